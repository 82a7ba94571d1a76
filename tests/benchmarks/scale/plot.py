"""Draws throttled requests over time, by policy, as SVG."""

from collections.abc import Iterable, Sequence

from tests.benchmarks.scale.outcome import STEP, Outcome

WIDTH, HEIGHT = 720, 300
LEFT, TOP, INNER, TALL, APART = 56, 56, 290, 190, 350
COLOURS = {"fixed N=1": "one", "fixed N=10": "ten", "autopilot": "pilot"}
STYLE = """
text { font: 12px sans-serif; fill: #333; } line { stroke: #bbb; } polyline { fill: none; stroke-width: 2; }
.one { stroke: #c0392b; } .ten { stroke: #2471a3; stroke-dasharray: 6 3; } .pilot { stroke: #1e8449; }
@media (prefers-color-scheme: dark) {
text { fill: #ddd; } line { stroke: #555; }
.one { stroke: #ff7b6b; } .ten { stroke: #6db8f2; } .pilot { stroke: #5fd38d; }
}"""


def plot(outcomes: Sequence[Outcome]) -> str:
    bursts = list(dict.fromkeys(outcome.burst_seconds for outcome in outcomes))
    top = max(1.0, *(max(outcome.throttled_by_step) / STEP for outcome in outcomes))
    parts = [f"<style>{STYLE}\n</style>", *_legend()]
    for number, burst in enumerate(bursts):
        drawn = [outcome for outcome in outcomes if outcome.burst_seconds == burst]
        parts += _panel(drawn, f"up to {burst:g} s of unused capacity kept", LEFT + number * APART, top)
    shape = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"'
    title = "<title>Requests throttled in a second, in the course of the run</title>"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {shape}>', title, *parts, "</svg>"]) + "\n"


def _legend() -> Iterable[str]:
    for number, (policy, colour) in enumerate(COLOURS.items()):
        x = LEFT + number * 110
        yield f'<polyline class="{colour}" points="{x},16 {x + 22},16"/>'
        yield _text(x + 28, 20, policy)
    yield _text(LEFT + 340, 20, "throttled requests a second, by minute of the run")


def _panel(outcomes: Sequence[Outcome], title: str, left: int, top: float) -> Iterable[str]:
    yield _text(left, TOP - 12, title)
    for part in (0.0, 0.5, 1.0):
        y = TOP + TALL * (1 - part)
        yield f'<line x1="{left}" y1="{y:.1f}" x2="{left + INNER}" y2="{y:.1f}"/>'
        yield _text(left - 6, y + 4, f"{top * part / 1000:.0f}k", "end")
    minutes = outcomes[0].seconds / 60
    for part in (0.0, 0.5, 1.0):
        yield _text(left + INNER * part, TOP + TALL + 18, f"{minutes * part:g}", "middle")
    yield from (_line(outcome, left, top) for outcome in outcomes)


def _line(outcome: Outcome, left: int, top: float) -> str:
    wide = INNER / len(outcome.throttled_by_step)
    points = (
        f"{left + wide * (number + 0.5):.1f},{TOP + TALL * (1 - throttled / STEP / top):.1f}"
        for number, throttled in enumerate(outcome.throttled_by_step)
    )
    return f'<polyline class="{COLOURS[outcome.policy]}" points="{" ".join(points)}"/>'


def _text(x: float, y: float, said: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{said}</text>'
