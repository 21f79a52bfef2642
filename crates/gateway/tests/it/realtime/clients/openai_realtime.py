"""Two responses over one connection by openai for Python. Prints the ends of both, one a line."""

import json
import os

from openai import OpenAI

client = OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
with client.realtime.connect(model=os.environ["CLIENT_MODEL"]) as connection:
    connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
    for text in ("Hello there", "And again"):
        content = [{"type": "input_text", "text": text}]
        connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        connection.response.create()
        for event in connection:
            assert event.type != "error", event
            if event.type == "response.done":
                assert event.response.status == "completed", event
                print(json.dumps(event.to_dict()))
                break
