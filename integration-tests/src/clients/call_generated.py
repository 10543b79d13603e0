"""Calls each operation of the API with the clients that two generators made from its document.

Arguments: the document, the URL of a node, and its token. The packages `client_by_python` (openapi-python-client)
and `client_by_generator` (openapi-generator) are importable. The client must build each request and read its answer.
Calls about names that do not exist are refused, but no call for lack of rights. A list must be read. The exit code
is 1 after a failure.
"""

import importlib
import inspect
import json
import pkgutil
import re
import sys
import typing

DOCUMENT, URL, TOKEN = sys.argv[1:4]
METHODS = ("get", "put", "post", "delete", "patch")
# Seconds. A stream of events ends only by this time-out.
PATIENCE = 3


class Operations:
    """The operations of the document by name."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.document = json.load(file)
        self.by_name = {
            snake(operation["operationId"]): {**operation, "method": method}
            for item in self.document["paths"].values()
            for method, operation in item.items()
            if method in METHODS
        }

    def body(self, name):
        """An example of the body of a call. None without a body in JSON."""
        content = self.by_name[name].get("requestBody", {}).get("content", {})
        media = content.get("application/json")
        return None if media is None else self.sample(media["schema"])

    def is_list(self, name):
        """Whether a call reads without naming anything."""
        operation = self.by_name[name]
        required = [one for one in operation.get("parameters", []) if one.get("required")]
        return operation["method"] == "get" and not required

    def check(self, name, status):
        """Fails if a node with this content must not answer like that."""
        if status in (401, 403):
            raise ValueError(f"refused with {status}")
        if self.is_list(name) and status != 200:
            raise ValueError(f"answered with {status} instead of 200")

    def is_stream(self, name):
        answers = self.by_name[name]["responses"].values()
        return any("text/event-stream" in answer.get("content", {}) for answer in answers)

    def sample(self, schema):
        """A value that the schema allows, with the required fields only."""
        if "$ref" in schema:
            return self.sample(self.resolve(schema["$ref"]))
        for key in ("const", "example"):
            if key in schema:
                return schema[key]
        if "enum" in schema:
            return schema["enum"][0]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.sample(next(one for one in schema[key] if one.get("type") != "null"))
        if "allOf" in schema:
            parts = [self.sample(part) for part in schema["allOf"]]
            return {key: value for part in parts for key, value in part.items()}
        kinds = schema.get("type", "object")
        kind = kinds if isinstance(kinds, str) else next(kind for kind in kinds if kind != "null")
        if kind == "object":
            fields = schema.get("properties", {})
            return {name: self.sample(fields[name]) for name in schema.get("required", [])}
        if kind == "array":
            return [self.sample(schema["items"])] if "items" in schema else []
        return {"string": "x", "integer": 1, "number": 1.0, "boolean": True}[kind]

    def resolve(self, reference):
        found = self.document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return found


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def argument(hint, body):
    """A value for a required parameter with this type."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    options = [hint]
    if typing.get_origin(hint) is not None and typing.get_origin(hint) not in (list, dict):
        options = [one for one in typing.get_args(hint) if one is not type(None)]
    hint = options[0]
    if hasattr(hint, "from_dict"):
        return hint.from_dict(body)
    if typing.get_origin(hint) is list or hint is list:
        return body if isinstance(body, list) else []
    if inspect.isclass(hint) and issubclass(hint, bool):
        return True
    if inspect.isclass(hint) and issubclass(hint, int):
        return 1
    if inspect.isclass(hint) and hasattr(hint, "__members__"):
        return next(iter(hint))
    return "x"


def required(function, body):
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: argument(hints[parameter.name], body)
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty and parameter.name not in ("self", "client")
    }


def calls_by_python(operations):
    """Each call of openapi-python-client: its name, and a function that does it."""
    package = importlib.import_module("client_by_python")
    client = package.Client(
        base_url=URL,
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=PATIENCE,
        raise_on_unexpected_status=True,
    )
    api = importlib.import_module("client_by_python.api")
    for module in pkgutil.walk_packages(api.__path__, "client_by_python.api."):
        if module.ispkg:
            continue
        name = module.name.rsplit(".", 1)[1]
        call = importlib.import_module(module.name).sync_detailed
        values = required(call, operations.body(name))

        def answered(name=name, call=call, values=values):
            operations.check(name, int(call(client=client, **values).status_code))

        yield name, answered


def calls_by_generator(operations):
    """The same for openapi-generator. It answers a refusal with an exception."""
    package = importlib.import_module("client_by_generator")
    importlib.import_module("client_by_generator.models")
    configuration = package.Configuration(host=URL, access_token=TOKEN)
    client = package.ApiClient(configuration)
    client.default_headers["Authorization"] = f"Bearer {TOKEN}"
    for kind in vars(importlib.import_module("client_by_generator.api")).values():
        if not inspect.isclass(kind):
            continue
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_") or name.endswith(("_with_http_info", "_without_preload_content")):
                continue
            original = inspect.unwrap(method)
            values = required(original, operations.body(name))

            def call(kind=kind, name=name, values=values):
                try:
                    getattr(kind(client), name)(**values, _request_timeout=PATIENCE)
                except package.ApiException as refused:
                    if refused.status is None:
                        raise
                    operations.check(name, refused.status)

            yield name, call


def main():
    operations = Operations(DOCUMENT)
    failures = 0
    for maker in (calls_by_python, calls_by_generator):
        done = set()
        for name, call in maker(operations):
            done.add(name)
            try:
                call()
            except Exception as error:  # Each failure is a finding, of any type.
                timed_out = "timed out" in str(error).lower() or "timeout" in type(error).__name__.lower()
                if not (timed_out and operations.is_stream(name)):
                    failures += 1
                    print(f"{maker.__name__}: {name}: {type(error).__name__}: {error}", file=sys.stderr)
        missing = sorted(set(operations.by_name) - done)
        if missing:
            failures += len(missing)
            print(f"{maker.__name__}: without a call: {', '.join(missing)}", file=sys.stderr)
        print(f"{maker.__name__}: {len(done)} operations")
    sys.exit(1 if failures else 0)


main()
