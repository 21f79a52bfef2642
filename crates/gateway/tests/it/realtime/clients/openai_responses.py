"""Two turns of Responses over one WebSocket by openai for Python, the second a continuation of the first with nothing
stored. Prints the ends of both, one a line."""

import json
import os

from openai import OpenAI

client = OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
previous = {}
with client.responses.connect() as connection:
    for text in ("Hello there", "And again"):
        connection.response.create(model=os.environ["CLIENT_MODEL"], input=text, store=False, **previous)
        for event in connection:
            assert event.type not in ("error", "response.failed"), event
            if event.type == "response.completed":
                print(json.dumps(event.to_dict()))
                previous = {"previous_response_id": event.response.id}
                break
