"""Starts the gateway inside TensorZero's Python package and prints its address: tensorzero_gateway.py CONFIG"""

import sys
import threading
import warnings

warnings.simplefilter("ignore")

import tensorzero
from openai import OpenAI

client = OpenAI(api_key="unused", base_url="http://unused.invalid")
client = tensorzero.patch_openai_client(client, config_file=sys.argv[1], clickhouse_url=None, async_setup=False)
print(f"address {str(client.base_url).removesuffix('/').removesuffix('/openai/v1')}", flush=True)
threading.Event().wait()
