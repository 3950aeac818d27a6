"""What a caller gives as JSON: a key nobody knows is an error, and null is the default of its key."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Body(BaseModel):
    """An object of named values; one that is null counts as not given."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def leave_nulls_out(cls, given: Any) -> Any:
        """What was given, without its nulls."""
        return {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given
