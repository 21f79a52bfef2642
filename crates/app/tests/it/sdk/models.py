"""The lists of models as three vendors' SDKs page through them."""

import sys
import warnings

warnings.simplefilter("ignore")

import anthropic
from google import genai
from google.genai import types
from openai import OpenAI

BASE_URL, KEY = sys.argv[1:]
ROOT = BASE_URL.removesuffix("/v1")

openai = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
names = [model.id for model in openai.models.list()]
assert len(names) > 60 and names == sorted(names), names

claude = anthropic.Anthropic(base_url=ROOT, api_key=KEY, max_retries=0)
page = claude.models.list(limit=7)
assert len(page.data) == 7 and page.has_more and page.last_id == page.data[-1].id
assert [model.id for model in claude.models.list(limit=7)] == names, "the SDK asks for every page"
assert [model.id for model in claude.models.list()] == names
model = claude.models.retrieve("sim-large")
assert (model.id, model.type) == ("sim-large", "model"), model

for version in ("v1beta", "v1"):
    options = types.HttpOptions(base_url=ROOT, api_version=version)
    gemini = genai.Client(api_key=KEY, http_options=options)
    paged = gemini.models.list(config={"page_size": 9})
    assert [model.name for model in paged] == [f"models/{name}" for name in names], version
    one = gemini.models.get(model="sim-large")
    assert one.name == "models/sim-large" and one.output_token_limit == 32768, one

print(f"{len(names)} models in three shapes")
