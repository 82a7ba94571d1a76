"""Draws throttled requests over time as SVG: one panel for each burst capacity, one line for each policy."""

from collections.abc import Iterable, Sequence

from tests.benchmarks.scale.outcome import STEP_SECONDS, Outcome

IMAGE_WIDTH, IMAGE_HEIGHT = 720, 300
PANEL_LEFT, PANEL_TOP, PANEL_WIDTH, PANEL_HEIGHT, PANEL_DISTANCE = 56, 56, 290, 190, 350
"""Positions and sizes in pixels. The distance is from the left of a panel to the left of the next one."""
CLASS_BY_POLICY = {"fixed N=1": "one", "fixed N=10": "ten", "autopilot": "pilot"}
STYLE = """
text { font: 12px sans-serif; fill: #333; } line { stroke: #bbb; } polyline { fill: none; stroke-width: 2; }
.one { stroke: #c0392b; } .ten { stroke: #2471a3; stroke-dasharray: 6 3; } .pilot { stroke: #1e8449; }
@media (prefers-color-scheme: dark) {
text { fill: #ddd; } line { stroke: #555; }
.one { stroke: #ff7b6b; } .ten { stroke: #6db8f2; } .pilot { stroke: #5fd38d; }
}"""


def plot(outcomes: Sequence[Outcome]) -> str:
    burst_lengths = list(dict.fromkeys(outcome.burst_seconds for outcome in outcomes))
    max_rate = max(1.0, *(max(outcome.throttled_by_step) / STEP_SECONDS for outcome in outcomes))
    parts = [f"<style>{STYLE}\n</style>", *_legend()]
    for number, burst_seconds in enumerate(burst_lengths):
        lines = [outcome for outcome in outcomes if outcome.burst_seconds == burst_seconds]
        title = f"burst capacity of {burst_seconds:g} s"
        parts += _panel(lines, title, PANEL_LEFT + number * PANEL_DISTANCE, max_rate)
    shape = f'viewBox="0 0 {IMAGE_WIDTH} {IMAGE_HEIGHT}" width="{IMAGE_WIDTH}" height="{IMAGE_HEIGHT}" role="img"'
    title_element = "<title>Throttled requests a second, by minute of the run</title>"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {shape}>', title_element, *parts, "</svg>"]) + "\n"


def _legend() -> Iterable[str]:
    for number, (policy, style_class) in enumerate(CLASS_BY_POLICY.items()):
        x = PANEL_LEFT + number * 110
        yield f'<polyline class="{style_class}" points="{x},16 {x + 22},16"/>'
        yield _text(x + 28, 20, policy)
    yield _text(PANEL_LEFT + 340, 20, "throttled requests a second, by minute of the run")


def _panel(outcomes: Sequence[Outcome], title: str, left: int, max_rate: float) -> Iterable[str]:
    """Yields the title, the axes with labels at their start, middle and end, and the lines."""
    yield _text(left, PANEL_TOP - 12, title)
    for part in (0.0, 0.5, 1.0):
        y = PANEL_TOP + PANEL_HEIGHT * (1 - part)
        yield f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL_WIDTH}" y2="{y:.1f}"/>'
        yield _text(left - 6, y + 4, f"{max_rate * part / 1000:.0f}k", "end")
    minutes = outcomes[0].seconds / 60
    for part in (0.0, 0.5, 1.0):
        yield _text(left + PANEL_WIDTH * part, PANEL_TOP + PANEL_HEIGHT + 18, f"{minutes * part:g}", "middle")
    yield from (_line(outcome, left, max_rate) for outcome in outcomes)


def _line(outcome: Outcome, left: int, max_rate: float) -> str:
    step_width = PANEL_WIDTH / len(outcome.throttled_by_step)
    points = (
        f"{left + step_width * (step + 0.5):.1f},"
        f"{PANEL_TOP + PANEL_HEIGHT * (1 - throttled / STEP_SECONDS / max_rate):.1f}"
        for step, throttled in enumerate(outcome.throttled_by_step)
    )
    return f'<polyline class="{CLASS_BY_POLICY[outcome.policy]}" points="{" ".join(points)}"/>'


def _text(x: float, y: float, content: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{content}</text>'
