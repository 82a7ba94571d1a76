"""Things with an id that anybody in the tenant can ask for by that id alone."""

import strawberry


@strawberry.interface(description="A thing with an id of its own.")
class Node:
    """What every such thing has."""

    id: strawberry.ID
