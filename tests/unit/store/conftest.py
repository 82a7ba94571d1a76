"""Properties are checked on a few dozen examples, however long a busy machine takes for them."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=60)
settings.load_profile("unhurried")
