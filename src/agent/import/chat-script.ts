// Programs for the Python of the chat server's own container: only there its configuration is parsed by the library that the chat server uses.
// They read and print JSON; they write nothing, not even compiled files (`-B`). The container's own PYTHONPATH applies, as for the chat server.

export const python = (script: string): string[] => ['python3', '-B', '-c', script]

const library = String.raw`
import ast, datetime, glob, importlib.metadata, importlib.util, ipaddress, json, math, os, re, socket, ssl, struct
import yaml

def commands():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                yield pid, [part.decode('utf-8', 'replace') for part in f.read().split(b'\0')[:-1]]
        except OSError:
            continue

def app_of(args):
    for at, arg in enumerate(args):
        if arg == '-m' and args[at + 1:at + 2] and args[at + 1].startswith('synapse.app.'):
            return args[at + 1]
        if os.path.basename(arg) in ('synapse_homeserver', 'synapse_worker') and at < 2:
            return 'synapse.app.homeserver' if arg.endswith('homeserver') else 'synapse.app.generic_worker'
    return None

def iso(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()

def started(pid):
    with open(f'/proc/{pid}/stat') as f:
        ticks = int(f.read().rsplit(')', 1)[1].split()[19])
    with open('/proc/stat') as f:
        boot = int(re.search(r'^btime (\d+)', f.read(), re.M).group(1))
    return iso(boot + ticks / os.sysconf('SC_CLK_TCK'))

def options(args, name, short=None):
    found, at = [], 0
    while at < len(args):
        arg = args[at]
        word, eq, value = arg.partition('=')
        if len(word) > 8 and name.startswith(word):
            found.append(value if eq else (args[at + 1] if at + 1 < len(args) else ''))
            at += 0 if eq else 1
        elif short and arg.startswith(short) and not arg.startswith('--'):
            found.append(arg[2:] or (args[at + 1] if at + 1 < len(args) else ''))
            at += 0 if arg[2:] else 1
        at += 1
    return found

def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

def config_file(path):
    shown = {'path': path, 'changedAt': iso(0), 'problem': None, 'settings': {}}
    try:
        shown['changedAt'] = iso(os.stat(path).st_mtime)
        with open(path) as f:
            text = f.read()
        values = yaml.safe_load(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except Exception as error:
        return {**shown, 'problem': 'it cannot be read: ' + str(error).split('\n')[0]}
    if not isinstance(values, dict):
        return {**shown, 'problem': 'it is empty or no map of settings'}
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    other = lines.get('<<', 1)
    return {**shown, 'settings': {str(key): {'line': lines.get(str(key), other), 'value': plain(value)} for key, value in values.items()}}

def config_files(cwd, paths):
    for path in (os.path.join(cwd, path) for path in paths):
        if not os.path.isdir(path):
            yield config_file(path)
            continue
        for name in sorted(os.listdir(path)):
            entry = os.path.join(path, name)
            if os.path.isfile(entry) and name.endswith('.yaml'):
                yield config_file(entry)

def ask(listener, path):
    tls = listener.get('tls') and not listener.get('path')
    if listener.get('path'):
        peer, address = socket.socket(socket.AF_UNIX), listener['path']
    else:
        binds = listener.get('bind_addresses') or [listener.get('bind_address') or '127.0.0.1']
        host = next((one for one in binds if one not in ('0.0.0.0', '::', '')), '127.0.0.1')
        peer, address = None, (host, int(listener['port']))
    try:
        peer = peer or socket.create_connection(address, 5)
        peer.settimeout(5)
        if listener.get('path'):
            peer.connect(address)
        if tls:
            peer = ssl._create_unverified_context().wrap_socket(peer)
        peer.sendall(f'GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n'.encode())
        answer = b''
        while len(answer) < 100000:
            part = peer.recv(10000)
            if not part:
                break
            answer += part
    except OSError:
        return None, None, ''
    head, _, body = answer.partition(b'\r\n\r\n')
    try:
        return int(head.split()[1]), json.loads(body), head.decode('latin-1')
    except Exception:
        return None, None, head.decode('latin-1')

def names_of(listener):
    return [name for one in listener.get('resources') or [] for name in one.get('names') or []]

def ip(text):
    raw = bytes.fromhex(text)
    raw = b''.join(raw[at:at + 4][::-1] for at in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    return str(getattr(address, 'ipv4_mapped', None) or address)

def connections():
    for name in ('tcp', 'tcp6'):
        try:
            with open('/proc/net/' + name) as f:
                rows = [line.split() for line in f.readlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if row[3] == '01':
                (here, port), (there, to) = (row[1].split(':'), row[2].split(':'))
                yield {'address': ip(here), 'port': int(port, 16), 'toAddress': ip(there), 'toPort': int(to, 16)}

def version(header):
    found = re.search(r'^Server: Synapse/(\S+)', header, re.M | re.I)
    try:
        return found.group(1) if found else importlib.metadata.version('matrix-synapse')
    except importlib.metadata.PackageNotFoundError:
        return None

# A path that is given counts from the working folder, the usual name from the folder of the last file.
def signing_keys(merged, cwd, folder):
    given = merged.get('signing_key')
    try:
        if given is None:
            path = merged.get('signing_key_path')
            with open(os.path.join(cwd, path) if path else os.path.join(folder, f"{merged.get('server_name')}.signing.key")) as f:
                given = f.read()
        lines = given if isinstance(given, list) else str(given).splitlines()
        words = [str(line).split() for line in lines]
        return [one[:3] for one in words if len(one) >= 3 and not one[0].startswith('#')]
    except OSError:
        return []

# Also 'rc_login.address', which reads rc_login.
def named_in_code():
    spec = importlib.util.find_spec('synapse.config')
    if spec is None or not spec.submodule_search_locations:
        return None
    names = set()
    for path in glob.glob(os.path.join(list(spec.submodule_search_locations)[0], '**', '*.py'), recursive=True):
        with open(path, encoding='utf-8') as f:
            tree = ast.parse(f.read())
        names |= {node.value.split('.')[0] for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return names

def unread(merged):
    try:
        names = named_in_code()
    except Exception:
        names = None
    return [] if names is None else [key for key in merged if key not in names]

def main_process():
    running = [(pid, args, app_of(args)) for pid, args in commands()]
    found = [(pid, args, app) for pid, args, app in running if app]
    main = next((one for one in found if one[2] == 'synapse.app.homeserver'), None)
    if main is None:
        return None
    pid, args, _ = main
    apps = [app for _, _, app in found]
    try:
        cwd = os.readlink(f'/proc/{pid}/cwd')
    except OSError:
        cwd = os.getcwd()
    config = list(config_files(cwd, options(args, '--config-path', '-c')))
    merged = {key: one['value'] for file in config for key, one in file['settings'].items()}
    folders = options(args, '--keys-directory') + options(args, '--config-directory')
    folder = os.path.join(cwd, folders[-1]) if folders else os.path.dirname(config[-1]['path']) if config else cwd
    return pid, apps, cwd, config, merged, folder

def secret_values(merged, cwd):
    for key in ('macaroon_secret_key', 'form_secret', 'registration_shared_secret', 'turn_shared_secret'):
        value = merged.get(key)
        if value is None and merged.get(key + '_path'):
            with open(os.path.join(cwd, merged[key + '_path'])) as f:
                value = f.read().strip()
        # Synapse takes an empty one for none.
        yield key, None if value in (None, '') else str(value)

def secrets():
    main = main_process()
    if main is None:
        return None
    _, _, cwd, _, merged, folder = main
    keys = signing_keys(merged, cwd, folder)
    return {'signingKey': keys[0] if keys else None, 'otherSigningKeys': keys[1:], **dict(secret_values(merged, cwd))}

def survey():
    main = main_process()
    if main is None:
        workers = [app for app in (app_of(args) for _, args in commands()) if app]
        return {'workers': workers} if workers else None
    pid, apps, cwd, config, merged, folder = main
    held = [':'.join(key[:2]) for key in signing_keys(merged, cwd, folder)]
    listeners = [one for one in merged.get('listeners') or [] if isinstance(one, dict) and one.get('type', 'http') == 'http']
    clients = [ask(one, '/_matrix/client/versions') for one in listeners if 'client' in names_of(one)]
    keys = [ask(one, '/_matrix/key/v2/server') for one in listeners if {'keys', 'federation'} & set(names_of(one))]
    header = next((head for status, _, head in clients if status == 200), '')
    known = next((body for status, body, _ in keys if status == 200 and isinstance(body, dict)), {})
    if held and known.get('verify_keys') and held[0] not in known['verify_keys']:
        held = []
    media = merged.get('media_store_path') or 'media_store'
    places = [os.path.normpath(os.path.join(base, media)) for base in (cwd, folder, '/data')]
    args_of = (merged.get('database') or {}).get('args') or {}
    return {
        'version': version(header), 'startedAt': started(pid), 'apps': apps, 'config': config, 'unread': unread(merged),
        'keyApiName': known.get('server_name'),
        'clientApiAnswers': header != '', 'signingKeyId': held[0] if held else None, 'otherSigningKeyIds': held[1:], 'connections': list(connections()),
        'mediaPath': next((place for place in places if os.path.isdir(place)), places[0]),
        'database': {key: str(args_of[key]) for key in ('host', 'dbname', 'database', 'user') if args_of.get(key) is not None},
    }
`

/** Processes, configuration, connections and names of the chat server in this container; `null` where none runs. */
export const chatScript = `${library}
print(json.dumps(survey()))
`

/** Secrets of the chat server, also those that are in files of their own. */
export const secretsScript = `${library}
print(json.dumps(secrets()))
`

/** Compares files with their sizes in the database: `id bytes` a line on stdin, below the media folder in the first argument. */
export const mediaScript = `
import json, os, re, sys
os.nice(19)
base = sys.argv[1]
missing, damaged = [], []
for line in sys.stdin:
    name, size = line.split()
    path = f'local_content/{name[:2]}/{name[2:4]}/{name[4:]}'
    try:
        if not re.fullmatch('[A-Za-z0-9_-]{5,255}', name) or os.stat(os.path.join(base, path)).st_size != int(size):
            damaged.append(path)
    except OSError:
        missing.append(path)
total, links = 0, []
for folder, folders, files in os.walk(base):
    if folder == base:
        folders[:] = [name for name in folders if name not in ('url_cache', 'url_cache_thumbnails')]
    links += [path for path in (os.path.join(folder, name) for name in folders + files) if os.path.islink(path)]
    for name in files:
        try:
            total += os.lstat(os.path.join(folder, name)).st_size
        except OSError:
            pass
print(json.dumps({'bytes': total, 'missing': missing, 'damaged': damaged, 'links': links[:10]}))
`
