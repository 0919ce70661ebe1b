"""Names of methods that standard libraries have too, so that a call by such a name alone says nothing of its target."""

import argparse
import collections
import concurrent.futures
import configparser
import datetime
import email.message
import io
import logging
import pathlib
import re
import socket
import sqlite3
import string
import threading
import unittest
from typing import Final

_TYPES: Final = (
    str, bytes, bytearray, int, float, list, tuple, dict, set, frozenset, type, object, BaseException,
    argparse.ArgumentParser, collections.Counter, collections.OrderedDict, collections.deque,
    concurrent.futures.Future, concurrent.futures.Executor, configparser.ConfigParser, datetime.datetime,
    datetime.timedelta, email.message.Message, io.TextIOWrapper, io.BytesIO, io.StringIO, logging.Logger,
    logging.Handler, pathlib.Path, re.Pattern, re.Match, socket.socket, sqlite3.Connection, sqlite3.Cursor,
    string.Template, threading.Thread, threading.Event, unittest.TestCase,
)  # fmt: skip
_SCRIPT: Final = """
addEventListener appendChild charAt charCodeAt codePointAt copyWithin createElement createServer defineProperty
endsWith findIndex findLast flatMap forEach fromEntries getAttribute getItem getOwnPropertyNames getTime hasOwnProperty
includes indexOf isArray isInteger lastIndexOf localeCompare matchAll padEnd padStart preventDefault querySelector
reduceRight removeEventListener removeListener replaceAll setAttribute setHeader setItem
setTimeout sendStatus startsWith
statusCode stopPropagation toBe toEqual toFixed toISOString toLocaleString toLowerCase toString toThrow toUpperCase
trimEnd trimStart valueOf writeHead readFile readFileSync writeFile writeFileSync allSettled
"""
_GO: Final = """
ReadAll ReadFile ReadFrom WriteFile WriteHeader WriteString WriteTo ReadByte ReadString ServeHTTP MarshalJSON
UnmarshalJSON NewRequest QueryRow QueryContext ExecContext RLock RUnlock HandleFunc ListenAndServe LoadOrStore
MarshalText UnmarshalText IsNil IsZero FindString MatchString ReplaceAllString
"""
STANDARD_METHODS: Final = frozenset({name for kind in _TYPES for name in dir(kind)} | {*_SCRIPT.split(), *_GO.split()})
