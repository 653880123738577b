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
