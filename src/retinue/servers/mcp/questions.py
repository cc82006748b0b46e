"""Questions of a run as elicitations, and what was filled in as answers. Approvals never come here."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

import mcp_types as types

from retinue.contract import json
from retinue.contract.model import JsonMapping
from retinue.contract.task import Question
from retinue.errors import Canceled, InvalidInput, ParseError

_VALUE: Final = "value"
_PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean"})
_JSON_FIELD: Final[JsonMapping] = {"type": "string", "description": "The answer, as JSON."}


def form_schema(question: Question) -> JsonMapping:
    """The form in which a question is asked: an object with flat fields, which is all that clients can show."""
    schema = question.answer_schema
    if schema is not None and _is_form(schema):
        return schema
    if question.kind == "choice":
        field: JsonMapping = {"type": "string", "enum": list(question.options)}
    elif schema is None:
        field = {"type": "string"}
    else:
        field = schema if _is_field(schema) else _JSON_FIELD
    return {"type": "object", "properties": {_VALUE: field}, "required": [_VALUE]}


def elicit_request(question: Question) -> types.ElicitRequest:
    """A question as the request that a client answers."""
    params = types.ElicitRequestFormParams(message=question.text, requested_schema=form_schema(question))
    return types.ElicitRequest(params=params)


def answer_value(question: Question, response: types.ElicitResult) -> object:
    """What a response says to a question.

    Raises:
        Canceled: The person declined, or closed the form.
        InvalidInput: The form was not filled in as asked.
    """
    if response.action != "accept":
        word = "declined" if response.action == "decline" else "dismissed"
        raise Canceled(f"The question was {word}: {question.text}", hint="Call the tool again to be asked again.")
    content, schema = response.content or {}, form_schema(question)
    if schema is question.answer_schema:
        return content
    if _VALUE not in content:
        raise InvalidInput(f"The answer has no `{_VALUE}`.", hint="Fill in the form.", path=f"/{_VALUE}")
    value = content[_VALUE]
    properties = cast("JsonMapping", schema["properties"])
    if properties[_VALUE] is not _JSON_FIELD:
        return value
    try:
        return json.loads(str(value))
    except ParseError as error:
        raise InvalidInput(f"The answer is no JSON: {error.message}", path=f"/{_VALUE}") from None


def by_key(questions: Iterable[Question]) -> dict[str, Question]:
    """Questions by the keys that a client sees: the agent's own ids of them where these are different."""
    every = list(questions)
    short = [each.id.rpartition(".")[2] for each in every]
    return {key if short.count(key) == 1 else each.id: each for key, each in zip(short, every, strict=True)}


def input_requests(questions: Mapping[str, Question]) -> types.InputRequests:
    """Questions as what a client must answer before a call goes on."""
    return {key: elicit_request(each) for key, each in questions.items()}


def _is_form(schema: JsonMapping) -> bool:
    fields = list(_mapping(schema.get("properties")).values())
    return schema.get("type") == "object" and bool(fields) and all(map(_is_field, fields))


def _is_field(schema: object) -> bool:
    field = _mapping(schema)
    is_list = field.get("type") == "array" and bool({"enum", "anyOf"} & _mapping(field.get("items")).keys())
    return field.get("type") in _PRIMITIVES or is_list


def _mapping(value: object) -> JsonMapping:
    return cast("JsonMapping", value) if isinstance(value, dict) else {}
