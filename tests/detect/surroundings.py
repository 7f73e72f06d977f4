"""Files that contain a value, as people write such files: source, settings, logs, notebooks, listings.

A place is a function that takes a Site, and returns the path and the text of a file. The text has VALUE where
the value belongs. The places in HELD are only in the held-out part, so the training never reads them.
"""
import json
import re

VALUE = "\0value\0"
THINGS = "order invoice basket parcel ticket tenant cluster batch report ledger shipment profile catalog quota metric".split()
VERBS = "load store merge flush resolve render sync collect publish validate rotate archive".split()
HOSTS = "billing.corp.lan db-3.prod.lan mail.acme-intern.net edge.fleet.io queue.backend.lan reports.zentral.eu".split()


def snake(words):
    return "_".join(words)


def camel(words):
    return words[0] + "".join(w.title() for w in words[1:])


def pascal(words):
    return "".join(w.title() for w in words)


def kebab(words):
    return "-".join(words)


def upper(words):
    return "_".join(words).upper()


class Site:
    """What a file has around a value: the words of the value's name, and random words for the rest of the
    file."""

    def __init__(self, chance, name):
        self.chance, self.name = chance, name
        self.thing, self.other = chance.sample(THINGS, 2)
        self.verb, self.host = chance.choice(VERBS), chance.choice(HOSTS)
        self.number = chance.randint(2, 900)

    def any_name(self, *styles):
        return self.chance.choice(styles)(self.name)


def python_settings(site):
    s = site
    name = s.any_name(upper, snake)
    quote = s.chance.choice("'\"")
    return f"{s.thing}/settings.py", f'''import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DEBUG = False
{s.thing.upper()}_PAGE_SIZE = {s.number}
{name} = {quote}{VALUE}{quote}

INSTALLED_APPS = [
    "django.contrib.auth",
    "{s.thing}s",
]


def {s.verb}_{s.other}(rows):
    return [row.id for row in rows if row.{s.thing}_count > {s.number}]
'''


def python_client(site):
    s = site
    return f"{s.thing}/{s.verb}.py", f'''"""Talks to the {s.thing} service."""
import requests

TIMEOUT_S = {s.number}


class {s.thing.title()}Client:
    def __init__(self, base="https://{s.host}/v2"):
        self.base = base
        self.{snake(s.name)} = "{VALUE}"

    def {s.verb}(self, {s.thing}_id):
        return requests.get(f"{{self.base}}/{s.thing}s/{{{s.thing}_id}}", timeout=TIMEOUT_S).json()
'''


def python_dict(site):
    s = site
    return f"jobs/{s.verb}_{s.thing}s.py", f'''{s.thing.upper()} = {{
    "host": "{s.host}",
    "port": {5000 + s.number},
    "{snake(s.name)}": "{VALUE}",
    "retries": 3,
}}

for row in {s.verb}({s.thing.upper()}):
    print(row["{s.other}"], row["total"])
'''


def python_call(site):
    s = site
    return f"tools/{s.verb}.py", f'''from {s.thing} import connect

connection = connect(host="{s.host}", user="{s.other}", {snake(s.name)}="{VALUE}")
for {s.thing} in connection.{s.verb}(limit={s.number}):
    print({s.thing})
'''


def javascript_const(site):
    s = site
    quote = s.chance.choice("'\"`")
    return f"src/{s.thing}/{s.verb}.js", f'''import {{ {s.verb} }} from "./{s.other}.js";

const {s.any_name(camel, upper)} = {quote}{VALUE}{quote};
const limit = {s.number};

export async function {s.verb}{s.thing.title()}(items) {{
  const found = items.filter((item) => item.{s.other} > limit);
  return {s.verb}(found);
}}
'''


def typescript_object(site):
    s = site
    return f"src/environments/environment.{s.thing}.ts", f'''export const environment = {{
  production: true,
  {s.thing}Url: 'https://{s.host}/api',
  {camel(s.name)}: '{VALUE}',
  pageSize: {s.number},
}};
'''


def go_const(site):
    s = site
    return f"internal/{s.thing}/{s.verb}.go", f'''package {s.thing}

import "time"

const (
\t{camel(s.name)} = "{VALUE}"
\ttimeout      = {s.number} * time.Second
)

// {s.verb.title()} returns the {s.other}s of a {s.thing}.
func {s.verb.title()}(id string) ([]string, error) {{
\treturn fetch(id, timeout)
}}
'''


def go_struct(site):
    s = site
    return f"cmd/{s.thing}/main.go", f'''package main

func main() {{
\tcfg := {s.thing}.Config{{
\t\tHost: "{s.host}",
\t\t{pascal(s.name)}: "{VALUE}",
\t\tLimit: {s.number},
\t}}
\t{s.thing}.{s.verb.title()}(cfg)
}}
'''


def java_field(site):
    s = site
    return f"src/main/java/com/acme/{s.thing}/{s.thing.title()}Service.java", f'''package com.acme.{s.thing};

public class {s.thing.title()}Service {{
    private static final String {upper(s.name)} = "{VALUE}";
    private final int {s.other}Limit = {s.number};

    public List<{s.other.title()}> {s.verb}(String {s.thing}Id) {{
        return repository.{s.verb}({s.thing}Id, {s.other}Limit);
    }}
}}
'''


def ruby_settings(site):
    s = site
    arrow = s.chance.choice([f":{snake(s.name)} => '{VALUE}'", f"{snake(s.name)}: '{VALUE}'"])
    return f"config/initializers/{s.thing}.rb", f'''{s.thing.title()}.configure do |config|
  config.url = "https://{s.host}"
  config.defaults = {{ {arrow}, timeout: {s.number} }}
end
'''


def php_settings(site):
    s = site
    return f"config/{s.thing}.php", f'''<?php

return [
    'host' => '{s.host}',
    'driver' => '{s.thing}',
    '{snake(s.name)}' => '{VALUE}',
    'retry' => {s.number},
];
'''


def php_define(site):
    s = site
    return f"{s.thing}/local.php", f'''<?php
$config['{s.thing}_url'] = 'https://{s.host}/';
$config['{snake(s.name)}'] = '{VALUE}';
$config['{s.other}_limit'] = {s.number};
'''


def csharp_field(site):
    s = site
    return f"src/{s.thing.title()}.Api/{s.verb.title()}Handler.cs", f'''namespace Acme.{s.thing.title()}.Api
{{
    public class {s.verb.title()}Handler
    {{
        private const string {pascal(s.name)} = "{VALUE}";
        private readonly int _limit = {s.number};
    }}
}}
'''


def rust_const(site):
    s = site
    return f"crates/{s.thing}/src/lib.rs", f'''use crate::{s.other}::{s.verb};

const {upper(s.name)}: &str = "{VALUE}";
const LIMIT: usize = {s.number};

pub fn {s.verb}_{s.thing}(ids: &[u64]) -> Vec<u64> {{
    ids.iter().copied().take(LIMIT).collect()
}}
'''


def c_define(site):
    s = site
    return f"firmware/{s.thing}.h", f'''#ifndef {s.thing.upper()}_H
#define {s.thing.upper()}_H

#define {s.thing.upper()}_HOST "{s.host}"
static const char *{snake(s.name)} = "{VALUE}";
#define {s.other.upper()}_MAX {s.number}

#endif
'''


def env_file(site):
    s = site
    return f"deploy/{s.thing}.env", f'''{s.thing.upper()}_HOST={s.host}
{s.thing.upper()}_PORT={5000 + s.number}
{upper(s.name)}={VALUE}
LOG_LEVEL=info
'''


def env_quoted(site):
    s = site
    return f"{s.thing}/.env.production", f'''NODE_ENV=production
{upper(s.name)}="{VALUE}"
{s.other.upper()}_LIMIT={s.number}
'''


def shell_export(site):
    s = site
    return f"scripts/{s.verb}_{s.thing}.sh", f'''#!/bin/sh
set -eu
export {upper(s.name)}={VALUE}
for {s.thing} in $(ls {s.other}); do
    ./{s.verb} "${s.thing}" --limit {s.number}
done
'''


def yaml_settings(site):
    s = site
    quote = s.chance.choice(["", "'", '"'])
    return f"config/{s.thing}.yml", f'''{s.thing}:
  host: {s.host}
  port: {5000 + s.number}
  {s.any_name(snake, camel, kebab)}: {quote}{VALUE}{quote}
  {s.other}s:
    - {s.verb}
    - archive
'''


def json_settings(site):
    s = site
    return f"{s.thing}/appsettings.json", json.dumps({
        "Logging": {"Level": "Information"},
        s.thing.title(): {"Host": s.host, s.any_name(pascal, camel, snake): VALUE, "Limit": s.number}},
        indent=2).replace("\\u0000", "\0") + "\n"


def toml_settings(site):
    s = site
    return f"{s.thing}/config.toml", f'''[{s.thing}]
url = "https://{s.host}"
{s.any_name(snake, kebab)} = "{VALUE}"
limit = {s.number}

[{s.other}]
enabled = true
'''


def properties(site):
    s = site
    return f"src/main/resources/application-{s.thing}.properties", f'''server.port={5000 + s.number}
{s.thing}.host={s.host}
{s.thing}.{s.any_name(snake, kebab, camel)}={VALUE}
{s.other}.enabled=true
'''


def ini_settings(site):
    s = site
    return f"etc/{s.thing}.ini", f'''; {s.thing} of the {s.other} team
[{s.thing}]
host = {s.host}
{snake(s.name)} = {VALUE}
limit = {s.number}
'''


def compose(site):
    s = site
    line = s.chance.choice([f"      - {upper(s.name)}={VALUE}", f"      {upper(s.name)}: {VALUE}"])
    return f"{s.thing}/docker-compose.yml", f'''services:
  {s.thing}:
    image: registry.corp.lan/{s.thing}:{s.number}
    environment:
{line}
    ports:
      - "{5000 + s.number}:8080"
'''


def workflow(site):
    s = site
    return f".github/workflows/{s.verb}.yml", f'''name: {s.verb} {s.thing}
on: [push]
jobs:
  {s.verb}:
    runs-on: ubuntu-latest
    env:
      {upper(s.name)}: "{VALUE}"
    steps:
      - uses: actions/checkout@v4
      - run: make {s.verb} LIMIT={s.number}
'''


def dockerfile(site):
    s = site
    return f"{s.thing}/Dockerfile", f'''FROM python:3.12-slim
WORKDIR /srv/{s.thing}
ENV {upper(s.name)}={VALUE}
COPY . .
RUN pip install -r requirements.txt
CMD ["python", "-m", "{s.thing}.{s.verb}", "--limit", "{s.number}"]
'''


def terraform(site):
    s = site
    return f"infra/{s.thing}.tf", f'''resource "helm_release" "{s.thing}" {{
  name  = "{s.thing}"
  chart = "acme/{s.thing}"
}}

locals {{
  {snake(s.name)} = "{VALUE}"
  replicas = {s.number % 9 + 1}
}}
'''


def kubernetes(site):
    s = site
    return f"k8s/{s.thing}/deployment.yaml", f'''apiVersion: apps/v1
kind: Deployment
metadata:
  name: {s.thing}
spec:
  template:
    spec:
      containers:
        - name: {s.thing}
          image: registry.corp.lan/{s.thing}:{s.number}
          env:
            - name: {upper(s.name)}
              value: "{VALUE}"
'''


def xml_settings(site):
    s = site
    tag = s.any_name(camel, snake, pascal)
    return f"conf/{s.thing}.xml", f'''<?xml version="1.0" encoding="UTF-8"?>
<{s.thing}>
  <host>{s.host}</host>
  <{tag}>{VALUE}</{tag}>
  <limit>{s.number}</limit>
</{s.thing}>
'''


def notebook(site):
    s = site
    source = ["import pandas as pd\n", f"{snake(s.name)} = \"{VALUE}\"\n", f"df = pd.read_csv('{s.thing}s.csv')\n",
              f"df.groupby('{s.other}').size().head({s.number})"]
    cell = {"cell_type": "code", "execution_count": s.number, "metadata": {}, "outputs": [], "source": source}
    return f"notebooks/{s.thing}_{s.verb}.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=1).replace(
        "\\u0000", "\0") + "\n"


def log_line(site):
    s = site
    return f"var/log/{s.thing}.log", "".join(f"2026-03-{day:02} 08:1{day % 10}:07,{s.number} INFO  {s.thing}.{s.verb}: " + text + "\n"
                                             for day, text in ((4, f"connecting to {s.host}"),
                                                               (5, f"using {snake(s.name)}={VALUE} for {s.other}"),
                                                               (6, f"{s.number} {s.other}s in 41 ms")))


# ---- only in the held-out part ----

def kotlin_val(site):
    s = site
    return f"app/src/main/kotlin/{s.thing}/{s.verb.title()}.kt", f'''package io.acme.{s.thing}

object {s.verb.title()} {{
    private const val {upper(s.name)} = "{VALUE}"
    val limit = {s.number}
    fun run(ids: List<Long>) = ids.filter {{ it > limit }}
}}
'''


def swift_let(site):
    s = site
    return f"Sources/{s.thing.title()}/{s.verb.title()}.swift", f'''import Foundation

struct {s.thing.title()} {{
    let {camel(s.name)} = "{VALUE}"
    let limit = {s.number}

    func {s.verb}() -> URL? {{ URL(string: "https://{s.host}/{s.other}s") }}
}}
'''


def scala_settings(site):
    s = site
    return f"src/main/resources/{s.thing}.conf", f'''{s.thing} {{
  host = "{s.host}"
  {kebab(s.name)} = "{VALUE}"
  limit = {s.number}
}}
'''


def groovy_gradle(site):
    s = site
    return f"{s.thing}/gradle.properties", f'''org.gradle.jvmargs=-Xmx{s.number}m
{camel(s.name)}={VALUE}
android.useAndroidX=true
'''


def ansible(site):
    s = site
    return f"group_vars/{s.thing}.yaml", f'''---
{s.thing}_hosts:
  - {s.host}
{snake(s.name)}: {VALUE}
{s.other}_limit: {s.number}
'''


def shell_history(site):
    s = site
    return "home/.bash_history", f'''cd {s.thing}
git pull
export {upper(s.name)}={VALUE}
make {s.verb}
ssh {s.host}
'''


def http_dump(site):
    s = site
    return f"captures/{s.thing}.http", f'''POST /v1/{s.thing}s HTTP/1.1
Host: {s.host}
X-{kebab([w.title() for w in s.name])}: {VALUE}
Content-Type: application/json

{{"{s.other}": {s.number}}}
'''


def diff_listing(site):
    s = site
    return f"patches/{s.number:04}-{s.thing}.patch", f'''--- a/{s.thing}/settings.py
+++ b/{s.thing}/settings.py
@@ -{s.number},6 +{s.number},7 @@
 {s.thing.upper()}_LIMIT = {s.number}
+{upper(s.name)} = "{VALUE}"
 {s.other.upper()}_HOST = "{s.host}"
'''


def powershell(site):
    s = site
    return f"scripts/{s.verb}.ps1", f'''$ErrorActionPreference = "Stop"
${pascal(s.name)} = "{VALUE}"
Invoke-RestMethod -Uri "https://{s.host}/{s.thing}" -TimeoutSec {s.number}
'''


def postman(site):
    s = site
    return f"postman/{s.thing}.json", json.dumps({"values": [{"key": "host", "value": s.host, "enabled": True},
                                                             {"key": snake(s.name), "value": VALUE, "enabled": True}]},
                                                 indent=2).replace("\\u0000", "\0") + "\n"


TRAINED = [python_settings, python_client, python_dict, python_call, javascript_const, typescript_object, go_const, go_struct,
           java_field, ruby_settings, php_settings, php_define, csharp_field, rust_const, c_define, env_file, env_quoted,
           shell_export, yaml_settings, json_settings, toml_settings, properties, ini_settings, compose, workflow, dockerfile,
           terraform, kubernetes, xml_settings, notebook, log_line]
HELD = [kotlin_val, swift_let, scala_settings, groovy_gradle, ansible, shell_history, http_dump, diff_listing, powershell, postman]
# The places that do not quote the value. There, a value must not contain blanks or characters that would end
# it.
BARE = {env_file, shell_export, properties, ini_settings, compose, dockerfile, log_line, groovy_gradle, ansible, shell_history,
        http_dump, yaml_settings, xml_settings}


# Syntaxes in which neither = nor : stands directly between a name and its value. {n} is a name in snake case, {c} in camel
# case, {u} in upper case, {v} the value.
SYNTAXES = {
    "trained": [("src/{t}.cpp", 'const std::string k{c}("{v}");'), ("src/{t}.py", '{u} = (\n    "{v}"\n)'), ("src/{t}.rs", 'let {n} = String::from("{v}");'),
                ("lib/{t}.rb", 'ENV["{u}"] ||= "{v}"'), ("src/{t}.py", '{n} = b"{v}"'), ("src/{t}.java", 'client.set{c}("{v}");'),
                ("charts/{t}.yaml", "{n}: >-\n  {v}"), ("stack/{t}.yaml", "  {c}:\n    Type: String\n    Default: {v}")],
    "held": [("src/{t}.c", 'static char {n}[] = "{v}";'), ("src/{t}.py", '{n} = """{v}"""'), ("bin/{t}.sh", ': "${{{u}:={v}}}"'),
             ("bin/{t}.sh", 'gh secret set {u} -b "{v}"'), ("src/{t}.py", 'parser.add_argument("--{n}", default="{v}")'),
             ("app/{t}.gradle", 'buildConfigField "String", "{u}", "\\"{v}\\""'), ("src/{t}.cs", 'options.Use{c}("{v}");')]}


def fits(place, value):
    """Returns whether the place can contain this value without escaping."""
    if re.search(r"[\"'`\\\n]", value):
        return False
    return place not in BARE or not re.search(r"[\s#;&|<>(){}$*?,\[\]!%^~:]", value)
