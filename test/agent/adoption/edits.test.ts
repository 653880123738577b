import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { completeCompose, completeHomeserver } from '../../../src/agent/adoption/complete-config.ts'

import { redact } from '../../../src/agent/adoption/secrets.ts'
import { mountOf, mountsOf } from '../../../src/agent/boxes/index.ts'

const edge = { image: 'a.test/edge:1', ports: ['127.0.0.1:1:8080'] }

describe('the compose file', () => {
  const complete = completeCompose(
    `services:
  synapse: &app
    image: a.test/synapse:v1
    restart: unless-stopped
    stop_grace_period: 90s
  postgres:
    image: a.test/postgres:15.1
    restart: unless-stopped
    stop_signal: SIGINT
    stop_grace_period: 1m30s
  minio: { image: "a.test/minio:1", restart: unless-stopped }
`,
    { edge, images: {} },
  )

  test('that lacks only an edge gets only an edge, and nothing the second time', () => {
    expect(parse(complete).services.edge).toEqual(edge)
    expect(parse(complete).services.synapse).toMatchObject({ stop_grace_period: '90s' })
    expect(completeCompose(complete, { edge, images: {} })).toBe(complete)
  })

  test('loses the chat server’s ports, also those of a merge', () => {
    const merged = complete
      .replace('services:', 'x-open: &open { ports: ["8008:8008"] }\nservices:')
      .replace('synapse: &app\n', 'synapse:\n    <<: *open\n')
    expect(parse(merged, { merge: true }).services.synapse.ports).toEqual(['8008:8008'])
    expect(parse(completeCompose(merged, { edge, images: {} }), { merge: true }).services.synapse.ports).toEqual([])
  })

  test.each([
    ['a map', '    environment: { POSTGRES_USER: postgres }\n', { POSTGRES_USER: 'postgres', TENANTRY_DATABASE: 'chat' }],
    ['a list', '    environment: [POSTGRES_USER=postgres]\n', ['POSTGRES_USER=postgres', 'TENANTRY_DATABASE=chat']],
    ['nothing', '', { TENANTRY_DATABASE: 'chat' }],
  ])('says the database’s name in %s of variables', (_, environment, expected) => {
    const text = complete.replace('    stop_signal: SIGINT\n', `    stop_signal: SIGINT\n${environment}`)
    const once = completeCompose(text, { edge, images: {}, databaseName: 'chat' })
    expect(parse(once).services.postgres.environment).toEqual(expected)
    expect(completeCompose(once, { edge, images: {}, databaseName: 'chat' })).toBe(once)
  })
})

describe('every byte that was not to change stays', () => {
  test('spacing, quotes, comments and empty values', () => {
    const text = `services:
  synapse:
    image:   'a.test/synapse:v1'   # ours
    restart:  "always"   # why?
    ports: ["8008:8008"]

    # the end
  postgres: { image: "a.test/postgres:15.1",   environment: { A: ,  B: } }
  minio: {image: a.test/minio:1,stop_signal: }
volumes: { db: , media: }
`
    const result = completeCompose(text, { edge, images: { synapse: 'a.test/synapse:v1.2' } })
    expect(result).toBe(`services:
  synapse:
    image:   'a.test/synapse:v1.2'   # ours
    restart:  "unless-stopped"   # why?
    stop_grace_period: 2m

    # the end
  postgres: { image: "a.test/postgres:15.1",   environment: { A: ,  B: }, restart: unless-stopped, stop_signal: SIGINT, stop_grace_period: "2m" }
  minio: {image: a.test/minio:1,stop_signal: , restart: unless-stopped }
  edge:
    image: a.test/edge:1
    ports:
      - 127.0.0.1:1:8080
volumes: { db: , media: }
`)
  })

  test('a byte order mark, Windows line ends and a missing last one', () => {
    const text = '\uFEFFservices:\r\n  synapse:\r\n    image: a\r\n  postgres:\r\n    image: b\r\n  minio:\r\n    image: c # last'
    const result = completeCompose(text, { edge, images: {} })
    expect(result.startsWith('\uFEFFservices:\r\n  synapse:\r\n    image: a\r\n    restart: unless-stopped\r\n')).toBe(true)
    expect(
      result.endsWith(
        'image: c # last\r\n    restart: unless-stopped\r\n  edge:\r\n    image: a.test/edge:1\r\n    ports:\r\n      - 127.0.0.1:1:8080',
      ),
    ).toBe(true)
    expect(result.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    expect(completeCompose(result, { edge, images: {} })).toBe(result)
    const chat = completeHomeserver('\uFEFFserver_name: a.test\r\n', { appserviceFile: '/data/x.yaml', registrationSharedSecret: 's' })
    expect(chat).toMatch(/^\uFEFFserver_name: a\.test\r\nlisteners:\r\n {2}- port: 8008\r\n/)
  })

  test('a service that is missing is named as missing', () => {
    expect(() => completeCompose('services: { synapse: { image: a }, postgres: { image: b } }', { edge, images: {} })).toThrow(
      /has no minio\. fix: add it/,
    )
  })

  test.each([
    ['an anchor that another service merges', '&db', '  minio:\n    <<: *db\n'],
    ['an anchor of a value that is replaced', '', '  minio: { image: c, restart: &always always }\n  x: { restart: *always }\n'],
  ])('else the edit is refused: %s', (_, anchor, more) => {
    const text = `services:\n  synapse: { image: a }\n  postgres: ${anchor}\n    image: b\n${more}`
    expect(() => completeCompose(text, { edge, images: {} })).toThrow(/cannot be edited at services\.\w+\.\w+: it uses an anchor/)
  })

  test('whatever the file, the result says what was wanted, and a second completion changes nothing', () => {
    const gap = fc.constantFrom('', ' ', '  # c', ' # "c: {"')
    const service = fc.constantFrom(
      '{ image: a, environment: { A: } }',
      '{image: a}',
      '{ \'image\': "a", }',
      '\n    image: a',
      '\n      image: |-\n        a\n      restart: always',
      '\n    # c\n    restart: always # c\n    image: "a"',
      '\n    image: a\n    ports:\n    - "1:1"\n    - 2:2 # c',
      '\n    restart:\n    image: a\n    volumes: [\n      a:/b\n    ]',
    )
    const file = fc.tuple(service, service, service, gap, fc.constantFrom('\n', '\r\n'), fc.constantFrom('', '\uFEFF'))
    fc.assert(
      fc.property(file, ([synapse, postgres, minio, comment, eol, mark]) => {
        const lines = `${mark}# top\nservices:${comment}\n  synapse: ${synapse}\n\n  postgres: ${postgres}\n  minio: ${minio}\nvolumes: {a: }\n`
        const text = lines.replaceAll('\n', eol)
        const result = completeCompose(text, { edge, images: { synapse: 'a.test/synapse:v1' } })
        const { services } = parse(result)
        expect(services.synapse).toMatchObject({ image: 'a.test/synapse:v1', restart: 'unless-stopped', stop_grace_period: '2m' })
        expect(services.synapse.ports ?? []).toEqual([])
        expect(services.postgres).toMatchObject({ image: 'a', restart: 'unless-stopped', stop_signal: 'SIGINT' })
        expect(services.edge).toEqual(edge)
        expect(completeCompose(result, { edge, images: { synapse: 'a.test/synapse:v1' } })).toBe(result)
        expect(result.startsWith(`${mark}# top${eol}services:${comment}${eol}`)).toBe(true)
      }),
      { numRuns: 40 },
    )
  })
})

describe('the chat server’s config', () => {
  const wants = { appserviceFile: '/data/x.yaml', registrationSharedSecret: 'shared' }

  test('that has it all stays byte for byte', () => {
    const once = completeHomeserver('server_name: a.test # ours\n', wants)
    expect(once).toMatch(/^server_name: a\.test # ours$/m)
    expect(completeHomeserver(once, wants)).toBe(once)
  })

  test('keeps registrations and a shared secret of its own', () => {
    const text = 'app_service_config_files:\n- /data/bridge.yaml\nregistration_shared_secret: theirs\n'
    const result = completeHomeserver(text, wants)
    expect(parse(result)).toMatchObject({
      app_service_config_files: ['/data/bridge.yaml', '/data/x.yaml'],
      registration_shared_secret: 'theirs',
    })
    expect(result).toMatch(/^- \/data\/bridge\.yaml$/m)
  })

  test('hears the edge: a listener on loopback is opened to the container’s network', () => {
    const text = "listeners:\n  - port: 8008\n    bind_addresses: ['::1', '127.0.0.1']\n    resources: [{ names: [client] }]\n"
    expect(parse(completeHomeserver(text, wants)).listeners[0]).toMatchObject({ bind_addresses: ['0.0.0.0'], x_forwarded: true })
  })

  test('that is no map, or no YAML, is said so', () => {
    expect(() => completeHomeserver('- a\n', wants)).toThrow(/homeserver\.yaml is not a map/)
    expect(() => completeHomeserver('a: [\n', wants)).toThrow(/homeserver\.yaml is not YAML/)
  })
})

test.each([
  ['password: hunter2', 'password: [secret]'],
  ['- POSTGRES_PASSWORD=hunter2', '- POSTGRES_PASSWORD=[secret]'],
  ['{ user: synapse, password: "hun ter", dbname: x }', '{ user: synapse, password: [secret], dbname: x }'],
  ["macaroon_secret_key: 'a b'", 'macaroon_secret_key: [secret]'],
  ['as_token: abc', 'as_token: [secret]'],
  ['postgres://synapse:hunter2@postgres/x', 'postgres://synapse:[secret]@postgres/x'],
  ['if ($http_x != "known-secret-value")', 'if ($http_x != "[secret]")'],
  ['server_name: a.test', 'server_name: a.test'],
])('%j is shown as %j', (text, shown) => {
  expect(redact(text, ['known-secret-value', ''])).toBe(shown)
})

test('mounts are read from both ways to write them, and the innermost one counts', () => {
  const mounts = mountsOf({
    volumes: [
      './a:/data:ro',
      'db:/var/lib/',
      '/x',
      { type: 'bind', source: '/srv', target: '/data/media' },
      { type: 'tmpfs', target: '/run' },
      7,
    ],
  })
  expect(mounts).toEqual([
    { kind: 'bind', source: './a', target: '/data' },
    { kind: 'volume', source: 'db', target: '/var/lib' },
    { kind: 'volume', source: '', target: '/x' },
    { kind: 'bind', source: '/srv', target: '/data/media' },
    { kind: 'other', source: '', target: '/run' },
  ])
  expect(mountOf(mounts, '/data/media/1')?.source).toBe('/srv')
  expect(mountOf(mounts, '/data/media2')?.source).toBe('./a')
  expect(mountOf(mounts, '/var/lib')?.source).toBe('db')
  expect(mountOf(mounts, '/var')).toBeUndefined()
})
