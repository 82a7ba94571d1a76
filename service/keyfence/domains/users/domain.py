"""Registers users and the viewer."""

from keyfence.domain import Domain
from keyfence.domains.users import access_patterns
from keyfence.domains.users.graphql import User, UserMutations, UserQueries, ViewerQueries, load_user

DOMAIN = Domain(
    name="users",
    access_patterns=(access_patterns,),
    queries=(ViewerQueries, UserQueries),
    mutations=(UserMutations,),
    types=(User,),
    nodes={"usr": load_user},
    depends_on=("groups", "sessions", "activity"),
)
