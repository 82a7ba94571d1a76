"""Keys and access patterns of users, their email claims and their settings."""

from keyfence.domains.users.model import EmailClaim, Setting, User, UserCount, is_alive
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding

users = entity(
    User,
    table=TenantKey("USER#{id}", "PROFILE"),
    gsi1=TenantKey("EMAIL#{email:email}", "USER#{id}", when=is_alive),
    gsi2=TenantKey("USERS", "{created_at}#{id}", sharding=Sharding("users", hashed_field="id"), when=is_alive),
)
email_claims = entity(EmailClaim, table=TenantKey("USEREMAIL#{email:email}", "CONSTRAINT"))
settings = entity(Setting, table=TenantKey("USER#{user_id}", "SETTINGS#{name}"))
user_counts = entity(UserCount, table=TenantKey("COUNT#USERS", "METADATA"))

user_by_id = users.get()
user_by_email = users.query("gsi1", begins_with="USER#")
newest_users = users.query("gsi2", newest_first=True)
setting_by_name = settings.get()
settings_of_user = settings.query("table", begins_with="SETTINGS#")
