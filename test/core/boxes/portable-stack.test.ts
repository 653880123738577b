import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { chatConfigPath, portableStack, type StackMounts } from '../../../src/core/boxes/index.ts'

const template = (path: string): string =>
  readFileSync(join(import.meta.dirname, '../../../config/box-template', path), 'utf8').replace(/\{\{(\w+)\}\}/g, '1$1')

/** The mounts of the box template. */
const mounts: StackMounts = {
  edge: [
    { kind: 'bind', source: './edge/conf.d', target: '/etc/nginx/conf.d' },
    { kind: 'bind', source: './edge/fence', target: '/etc/nginx/fence' },
  ],
  synapse: [
    { kind: 'bind', source: './synapse', target: '/data' },
    { kind: 'volume', source: 'media', target: '/media' },
  ],
  postgres: [
    { kind: 'bind', source: './secrets/postgres', target: '/run/secrets/postgres' },
    { kind: 'bind', source: './postgres/init', target: '/docker-entrypoint-initdb.d' },
    { kind: 'volume', source: 'postgres', target: '/var/lib/postgresql/data' },
  ],
  minio: [
    { kind: 'bind', source: './secrets/minio', target: '/run/secrets/minio' },
    { kind: 'volume', source: 'objects', target: '/data' },
  ],
}
type Plain = Record<string, Record<string, Record<string, unknown>>>

/** The box template, with changes of its compose file and its homeserver.yaml. */
function aStack({ edit = () => undefined, chat = {}, at = mounts }: Change = {}) {
  const compose = structuredClone(parse(template('compose.yaml'), { merge: true })) as Plain
  edit(compose)
  const homeserver = { ...(parse(template('synapse/homeserver.yaml').replace('1maxUploadMegabytesM', '50M')) as object), ...chat }
  return portableStack({ compose, mounts: at, homeserver })
}
type Change = { edit?: (compose: Plain) => unknown; chat?: Record<string, unknown>; at?: StackMounts }
const inService = (name: string, keys: Record<string, unknown>) => (compose: Plain) =>
  Object.assign(compose.services?.[name] as object, keys)

test('a box of the template takes its data and its upload limit along, and nothing is refused', () => {
  expect(aStack()).toMatchObject({
    findings: [],
    dataFindings: [],
    data: { synapse: 'media', minio: 'objects' },
    chat: { maxUploadMegabytes: 50, findings: [] },
  })
})

test('a stack of another owner is expressed as data, settings and limits', () => {
  const portable = portableStack({
    compose: {
      version: '3.8',
      'x-own': { privileged: true },
      services: {
        edge: { image: 'r/edge:1.0' },
        synapse: { image: 'r/synapse:v1.1.1', restart: 'always', mem_limit: '2g', environment: { TZ: 'Europe/Berlin' } },
        postgres: { image: 'r/postgres:15.1', shm_size: '1gb', environment: ['POSTGRES_USER=school', 'POSTGRES_PASSWORD=x'] },
        minio: {
          image: 'r/minio:1',
          command: 'server /objects --console-address :9001',
          deploy: { resources: { limits: { cpus: '0.5' } } },
        },
      },
      volumes: { a: null, b: { name: 'b' } },
      networks: { front: {} },
    },
    mounts: {
      synapse: [
        { kind: 'bind', source: './chat', target: '/data' },
        { kind: 'volume', source: 'a', target: '/data/media_store' },
        { kind: 'bind', source: '/etc/localtime', target: '/etc/localtime' },
      ],
      minio: [{ kind: 'volume', source: 'b', target: '/objects' }],
    },
    homeserver: {
      retention: { enabled: true },
      rc_message: { per_second: 1 },
      max_upload_size: '1500K',
      turn_uris: ['turn:a'],
      presence: null,
    },
  })
  expect(portable).toEqual({
    chat: {
      settings: { retention: { enabled: true }, rc_message: { per_second: 1 }, turn_uris: ['turn:a'] },
      maxUploadMegabytes: 2,
      findings: [],
    },
    limits: {
      edge: {},
      synapse: { mem_limit: '2g' },
      postgres: { shm_size: '1gb' },
      minio: { deploy: { resources: { limits: { cpus: '0.5' } } } },
    },
    data: { synapse: 'a', minio: 'b' },
    findings: [],
    dataFindings: [],
  })
})

describe('a compose file is refused by the name of the key', () => {
  test.each<[string, (compose: Plain) => unknown]>([
    ['services.synapse.privileged', inService('synapse', { privileged: true })],
    ['services.synapse.pid', inService('synapse', { pid: 'host' })],
    ['services.edge.network_mode', inService('edge', { network_mode: 'host' })],
    ['services.minio.devices', inService('minio', { devices: ['/dev/sda'] })],
    ['services.synapse.cap_add', inService('synapse', { cap_add: ['ALL'] })],
    ['services.synapse.security_opt', inService('synapse', { security_opt: ['apparmor:unconfined'] })],
    ['services.synapse.extends', inService('synapse', { extends: { file: '/etc/x.yaml', service: 'x' } })],
    ['services.synapse.build', inService('synapse', { build: { context: '/' } })],
    ['services.synapse.env_file', inService('synapse', { env_file: '/etc/shadow' })],
    ['services.synapse.secrets', inService('synapse', { secrets: ['host'] })],
    ['services.synapse.configs', inService('synapse', { configs: ['host'] })],
    ['services.synapse.user', inService('synapse', { user: '0' })],
    ['services.synapse.volumes_from', inService('synapse', { volumes_from: ['container:other'] })],
    ['services.synapse.cgroup_parent', inService('synapse', { cgroup_parent: '/' })],
    ['services.synapse.entrypoint', inService('synapse', { entrypoint: ['/bin/sh', '-c', 'reboot'] })],
    ['services.postgres.entrypoint', inService('postgres', { entrypoint: ['/bin/true'] })],
    ['services.postgres.command', inService('postgres', { command: ['postgres', '-c', 'fsync=off'] })],
    ['services.postgres.ports', inService('postgres', { ports: ['5432:5432'] })],
    ['services.synapse.environment.LD_PRELOAD', inService('synapse', { environment: { LD_PRELOAD: '/media/x.so' } })],
    ['services.synapse.environment.UID', inService('synapse', { environment: ['UID=0'] })],
    ['services.minio.mem_limit', inService('minio', { mem_limit: '$' + '{HOME}' })],
    ['services.minio.deploy', inService('minio', { deploy: { replicas: 2 } })],
    ['services.minio.deploy', inService('minio', { deploy: { resources: { reservations: { devices: [{ capabilities: ['gpu'] }] } } } })],
    ['services.miner', (compose) => Object.assign(compose.services as object, { miner: { image: 'evil/miner:1' } })],
    ['include', (compose) => Object.assign(compose, { include: ['/etc/compose.yaml'] })],
    ['secrets', (compose) => Object.assign(compose, { secrets: { host: { file: '/etc/shadow' } } })],
    ['configs', (compose) => Object.assign(compose, { configs: { host: { file: '/etc/shadow' } } })],
    [
      'volumes.media.driver_opts',
      (compose) => Object.assign(compose.volumes as object, { media: { driver_opts: { device: '/', o: 'bind' } } }),
    ],
    ['volumes.media.external', (compose) => Object.assign(compose.volumes as object, { media: { external: true } })],
    ['volumes.media.driver', (compose) => Object.assign(compose.volumes as object, { media: { driver: 'evil' } })],
    ['networks.default.external', (compose) => Object.assign(compose, { networks: { default: { external: true } } })],
  ])('%s', (key, edit) => {
    expect(aStack({ edit }).findings).toEqual([
      expect.stringMatching(new RegExp(`^compose: ${key.replaceAll('.', '\\.')} cannot be carried over: `)),
    ])
  })

  test.each<[string, StackMounts]>([
    [
      'services.synapse.volumes at /host',
      { ...mounts, synapse: [...(mounts.synapse ?? []), { kind: 'bind', source: '/', target: '/host' }] },
    ],
    [
      'services.synapse.volumes at /tmp',
      { ...mounts, synapse: [...(mounts.synapse ?? []), { kind: 'other', source: '', target: '/tmp' }] },
    ],
    ['services.postgres.volumes at /etc/x', { ...mounts, postgres: [{ kind: 'bind', source: './x', target: '/etc/x' }] }],
  ])('%s', (key, at) => {
    expect(aStack({ at }).findings).toEqual([expect.stringContaining(key)])
  })

  test('a missing service', () => {
    expect(aStack({ edit: (compose) => Reflect.deleteProperty(compose.services as object, 'minio') }).findings).toEqual([
      'compose: the service minio is missing: add it',
    ])
  })
})

describe('homeserver.yaml', () => {
  const settingsOf = (chat: Record<string, unknown>) => aStack({ chat }).chat.settings

  test('mail keeps its server, and previews of links reach no private network', () => {
    const email = { smtp_host: 'mail.school.test', smtp_port: 587, smtp_pass: 'x', notif_from: 'a@b.test', subjects: { messages: 'b' } }
    expect(settingsOf({ email }).email).toEqual(email)
    const ranges = settingsOf({ url_preview_enabled: true }).url_preview_ip_range_blacklist
    expect(ranges).toEqual(expect.arrayContaining(['127.0.0.0/8', '10.0.0.0/8', '169.254.0.0/16', 'fc00::/7']))
    const own = settingsOf({ url_preview_enabled: true, url_preview_ip_range_blacklist: ['8.8.8.0/24'] }).url_preview_ip_range_blacklist
    expect(own).toEqual(expect.arrayContaining(['8.8.8.0/24', '10.0.0.0/8']))
  })

  test('a part that is no data stays behind, the rest is taken along', () => {
    const chat = {
      presence: { enabled: false, presence_router: null },
      experimental_features: { msc3266_enabled: true, msc4108: { url: 'x' } },
    }
    expect(settingsOf(chat)).toMatchObject({ presence: { enabled: false }, experimental_features: { msc3266_enabled: true } })
    expect(aStack({ chat }).findings).toEqual([expect.stringMatching(/experimental_features .* remove msc4108 from it$/)])
  })

  test('logins keep the limits of the box template: all come from one address', () => {
    expect(settingsOf({ rc_login: { address: { per_second: 0.1, burst_count: 3 } } })).not.toHaveProperty('rc_login')
  })
})

describe('homeserver.yaml is refused by the name of the key', () => {
  test.each<[string, unknown]>([
    ['modules', [{ module: 'os.system' }]],
    ['password_providers', [{ module: 'x' }]],
    ['spam_checker', [{ module: 'x' }]],
    ['oidc_providers', [{ idp_id: 'x' }]],
    ['media_storage_providers', [{ module: 's3' }]],
    ['email', { smtp_host: 'mail' }],
    ['custom_template_directory', '/etc'],
    ['manhole_settings', {}],
    ['instance_map', { main: { host: 'x', port: 1 } }],
    ['redis', { enabled: true }],
    ['registration_shared_secret_path', '/etc/shadow'],
    ['macaroon_secret_key_path', '/etc/shadow'],
    ['opentracing', { enabled: true }],
    ['email', { smtp_host: 'mail.school.test', template_dir: '/etc' }],
    ['experimental_features', { msc3202_enabled: { file: '/etc/shadow' } }],
    ['url_preview_ip_range_blacklist', ['10.0.0.0/8', 'not a range']],
    ['url_preview_ip_range_whitelist', ['10.0.0.1/32']],
    ['federation_domain_whitelist', ['matrix.org']],
    ['enable_registration', true],
    ['app_service_config_files', ['/data/a.yaml', '/data/b.yaml']],
    ['max_upload_size', '1e9'],
    ['presence', { presence_router: { module: 'os.system' } }],
    ['password_config', { enabled: true, local_script: 'x' }],
    ['retention', { text: 'a\u0000b' }],
    ['rc_message', { deep: [[[[[[[1]]]]]]] }],
    ['constructor', {}],
  ])('%s', (key, value) => {
    expect(aStack({ chat: { [key]: value } }).findings).toEqual([expect.stringMatching(new RegExp(`^homeserver\\.yaml: ${key} cannot be`))])
  })

  test.each(['localhost', '127.0.0.1', 'db', 'host.docker.internal', 'a b.test', ''])(
    'mail by %s, which another host does not find',
    (smtp_host) => {
      expect(aStack({ chat: { email: { smtp_host } } })).toMatchObject({
        findings: ['homeserver.yaml: email cannot be carried over: remove it'],
        chat: { settings: expect.not.objectContaining({ email: expect.anything() }) },
      })
    },
  )

  test('a listener that serves federation', () => {
    const listeners = [{ port: 8448, resources: [{ names: ['client', 'federation'] }] }]
    expect(aStack({ chat: { listeners } }).findings).toEqual([expect.stringContaining('resource federation')])
  })

  test('a name with control characters is shown without them', () => {
    expect(aStack({ chat: { 'a\u001b[2Jb': 1 } }).findings).toEqual(['homeserver.yaml: "a?[2Jb" cannot be carried over: remove it'])
  })
})

test.each<[string, StackMounts, string]>([
  [
    'media in the folder of the config',
    { ...mounts, synapse: [{ kind: 'volume', source: 'all', target: '/data' }] },
    'synapse has no named volume for its media',
  ],
  [
    'objects in a bound folder',
    { ...mounts, minio: [{ kind: 'bind', source: './objects', target: '/data' }] },
    'minio has no named volume for its objects',
  ],
  [
    'a second volume',
    { ...mounts, minio: [...(mounts.minio ?? []), { kind: 'volume', source: 'x', target: '/more' }] },
    'services.minio.volumes at /more',
  ],
])('data that does not fit the template is refused: %s', (_, at, message) => {
  expect(aStack({ at }).dataFindings.join()).toContain(message)
})

test.each<[string, unknown, StackMounts, string | undefined]>([
  ['the template', {}, mounts, 'synapse/homeserver.yaml'],
  ['another folder', {}, { synapse: [{ kind: 'bind', source: './a/b/', target: '/data' }] }, 'a/b/homeserver.yaml'],
  ['another path', { SYNAPSE_CONFIG_PATH: '/c/d/own.yaml' }, { synapse: [{ kind: 'bind', source: './x', target: '/c' }] }, 'x/d/own.yaml'],
  ['another config folder', ['SYNAPSE_CONFIG_DIR=/c'], { synapse: [{ kind: 'bind', source: 'x', target: '/c' }] }, 'x/homeserver.yaml'],
  ['a volume', {}, { synapse: [{ kind: 'volume', source: 'x', target: '/data' }] }, undefined],
  ['the host', {}, { synapse: [{ kind: 'bind', source: '/etc', target: '/data' }] }, undefined],
  ['a neighbour', {}, { synapse: [{ kind: 'bind', source: './../elm', target: '/data' }] }, undefined],
  ['a climbing path', { SYNAPSE_CONFIG_PATH: '/data/../../elm/x' }, mounts, undefined],
])('the config of the chat server is found in the folder of the box alone: %s', (_, environment, at, path) => {
  expect(chatConfigPath({ services: { synapse: { environment } } }, at)).toBe(path)
})

test.each([null, 'text', [], { services: 'x' }, { services: { synapse: [] } }])('a file of another shape is no crash: %j', (compose) => {
  expect(portableStack({ compose, mounts: {}, homeserver: 7 }).findings.length).toBeGreaterThan(0)
})
