import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { problem } from '../../../src/core/kit/index.ts'
import { images } from '../simulated/boxes.ts'
import { aCompletion, aStack, handMade, homeserver } from './a-stack.ts'

const findingsOf = async (change: Parameters<typeof aStack>[0]) => {
  const stack = await aStack(change)
  const { findings } = await stack.run()
  return { stack, findings }
}

const rows: [string, Parameters<typeof aStack>[0], RegExp][] = [
  [
    'a privileged service',
    { compose: handMade.replace('command: server /data', 'command: server /data\n    privileged: true') },
    /minio is privileged/,
  ],
  [
    'two containers of a service',
    { compose: handMade.replace('command: server /data', 'command: server /data\n    deploy: { replicas: 2 }') },
    /minio has more than one container/,
  ],
  [
    'a volume bound to a place',
    { compose: handMade.replace('\n  media:\n', '\n  media: { driver_opts: { device: /mnt } }\n') },
    /could not be restored: the volume media \(line 24 of the compose file\) has driver_opts/,
  ],
  [
    'a database in a folder',
    { compose: handMade.replace('- db:/var/lib/postgresql/data', '- ./db:/var/lib/postgresql/data\n      - db:/backups') },
    /postgres stores its data in \.\/db; a rollback needs a named volume/,
  ],
  [
    'a database without a mount',
    { compose: handMade.replace('- db:/var/lib/postgresql/data', '- db:/backups') },
    /postgres stores its data in the container itself/,
  ],
  [
    'objects in a folder',
    { compose: handMade.replace('[objects:/data]', '[./objects:/data]').replace('\n  objects:', '') },
    /minio stores its objects in a host folder/,
  ],
  [
    'media in a folder',
    { compose: handMade.replace('- media:/media', '- ./media:/media').replace('\n  media:', '') },
    /synapse stores media in \.\/media/,
  ],
  [
    'a database elsewhere',
    { homeserver: homeserver.replace('host: postgres', 'host: db.school.example') },
    /database host db\.school\.example, not the service postgres/,
  ],
  ['SQLite', { homeserver: homeserver.replace('name: psycopg2', 'name: sqlite3') }, /synapse uses sqlite3, not PostgreSQL/],
  [
    'a database of another name',
    { homeserver: homeserver.replace('dbname: synapse', 'dbname: chat') },
    /database chat with role synapse\. fix: give both the same name/,
  ],
  [
    'another server name',
    { homeserver: homeserver.replace('chat.elm.example', 'elm.example') },
    /server_name of synapse is elm\.example, not chat\.elm\.example/,
  ],
  ['workers', { homeserver: `${homeserver}instance_map: { main: { host: x, port: 1 } }\n` }, /synapse uses workers \(instance_map\)/],
  ['no passwords', { homeserver: `${homeserver}password_config: { enabled: false }\n` }, /password_config\.enabled is false/],
  ['delegated logins', { homeserver: `${homeserver}matrix_authentication_service: { enabled: true }\n` }, /delegated/],
  [
    'a port of ours that is another’s',
    { homeserver: homeserver.replace('database:', '  - { port: 8009, type: metrics }\ndatabase:') },
    /listener of synapse on port 8009 .* give it another port/,
  ],
  [
    'a config that is mounted alone',
    { compose: handMade.replace('./synapse:/data', './synapse/homeserver.yaml:/data/homeserver.yaml') },
    /mounted as a single file/,
  ],
  ['no config to be found', { compose: handMade.replace('      - ./synapse:/data\n', '') }, /is in no mounted folder or volume/],
  [
    'a proxy in the project',
    { compose: handMade.replace('services:\n', `services:\n  caddy: { image: "registry.test/caddy:2", ports: ["443:443"] }\n`) },
    /service caddy publishes ports, .* bypass the fence/,
  ],
  [
    'TLS at the edge',
    {
      compose: handMade.replace('services:\n', `services:\n  edge: { image: "registry.test/tenantry/edge:1.22.1", ports: ["443:443"] }\n`),
    },
    /edge of elm serves TLS on port 443/,
  ],
  [
    'a service through an alias',
    { compose: handMade.replace('  postgres:\n', '  postgres: &db\n').replace(/ {2}minio:\n(?: {4}.*\n)+/, '  minio: *db\n') },
    /takes minio from an alias/,
  ],
  ['a switch that is there', { more: { 'edge/fence/on': '' } }, /fence file edge\/fence\/on exists/],
  [
    'a password no request can hold',
    { env: { minio: 'MINIO_ROOT_USER=school\nMINIO_ROOT_PASSWORD=a"b\n' } },
    /root user or password of minio has characters/,
  ],
]

test.each(rows)('%s is a finding that refuses the completion', async (_, change, says) => {
  const { stack, findings } = await findingsOf(change)
  expect(findings.join('\n')).toMatch(says)
  const before = await stack.all()
  const seen = await stack.seen()
  await expect(stack.run(seen)).rejects.toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(says) })
  expect(await stack.all()).toEqual(before)
})

test.each([
  [
    'another volume',
    (text: string) => text.replace('- db:/var/', '- old:/var/').replace('  db:\n', '  old:\n'),
    /postgres mounts volume elm_db at \/var\/lib\/postgresql\/data, but docker-compose\.yml mounts volume elm_old there/,
  ],
  [
    'another name of the volume, which the hash does not see',
    (text: string) => text.replace('  db:\n', '  db: { name: other }\n'),
    /postgres mounts volume elm_db at .*, but docker-compose\.yml mounts volume other there/,
  ],
  ['another command', (text: string) => text.replace('server /data', 'server /data --quiet'), /minio runs with other settings/],
])('an edit that was not brought up refuses the completion: %s', async (_, edit, says) => {
  const stack = await aStack()
  await writeFile(join(stack.folder, 'docker-compose.yml'), edit(handMade))
  const before = await stack.all()
  const seen = await stack.seen()
  await expect(stack.run(seen)).rejects.toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(says) })
  expect(await stack.all()).toEqual(before)
  expect([...stack.host.running('elm')].sort()).toEqual(['minio', 'postgres', 'synapse'])
})

test.each([
  [
    'a digest',
    handMade.replace(/(registry\.test\/tenantry\/minio):\S+/, `$1@sha256:${'0'.repeat(64)}`),
    /minio has no image tag with a version .*: it is pinned by digest.* without the digest/,
  ],
  [
    'a profile',
    handMade.replace('  minio:\n', '  minio:\n    profiles: [extra]\n'),
    /^minio belongs to the profile extra, which is not active\. fix: remove the profiles of minio from docker-compose\.yml$/m,
  ],
])('%s is named as the reason', async (_, compose, says) => {
  const { stack } = await findingsOf({})
  await writeFile(join(stack.folder, 'docker-compose.yml'), compose)
  expect((await stack.run()).findings.join('\n')).toMatch(says)
})

test('a tag that was pulled again is a finding: the completion would start another image', async () => {
  const stack = await aStack()
  const agent = await stack.agent((deps) => ({
    ...deps,
    engine: {
      ...deps.engine,
      localDigest: async (image) => (image === images.postgres ? `sha256:${'1'.repeat(64)}` : deps.engine.localDigest(image)),
    },
  }))
  expect((await stack.run(undefined, agent)).findings).toEqual([
    expect.stringMatching(/^postgres runs another image than .* the tag was pulled again/),
  ])
})

test('a result that compose refuses is a finding before anything is applied', async () => {
  const stack = await aStack()
  const agent = await stack.agent((deps) => ({
    ...deps,
    engine: {
      ...deps.engine,
      resolveCompose: async (project, text) => {
        if (text.includes('  edge:')) throw problem('COMPOSE_INVALID', 'Compose file of elm: services.edge is refused')
        return deps.engine.resolveCompose(project, text)
      },
    },
  }))
  expect((await stack.run(undefined, agent)).findings).toEqual(['Compose file of elm: services.edge is refused'])
})

test('an override file refuses the completion, also one that changes nothing now', async () => {
  const { findings } = await findingsOf({ more: { 'docker-compose.override.yml': 'services: {}\n' } })
  expect(findings).toEqual([expect.stringMatching(/^docker compose adds docker-compose\.override\.yml to docker-compose\.yml/)])
})

test('a stopped service is a finding, not a guess', async () => {
  const stack = await aStack()
  await stack.host.engine.stop(stack.box.project, ['postgres'])
  expect((await stack.run()).findings).toContainEqual(expect.stringMatching(/postgres is not running\. fix: start the stack/))
})

test('`latest` becomes the running version when that is the same image, and is a finding otherwise', async () => {
  const latest = handMade.replace(/registry\.test\/tenantry\/minio:\S+/, 'registry.test/tenantry/minio:latest')
  const { findings } = await findingsOf({ compose: latest })
  expect(findings).toEqual([
    expect.stringMatching(/minio has no image tag with a version .*(is not the running image|does not report its version)/),
  ])
})

test('TENANTRY_DATABASE is set when role and database share a name that differs from the container’s', async () => {
  const { stack, findings } = await findingsOf({ env: { postgres: 'POSTGRES_USER=postgres\n' } })
  expect(findings).toEqual([])
  await stack.run(aCompletion({ expected: (await stack.run()).diffSha256 }))
  expect(await stack.text('docker-compose.yml')).toMatch(/- TENANTRY_DATABASE=synapse/)
})

test('the host’s clock may be mounted', async () => {
  const clock = handMade.replace('- db:/var', '- /etc/localtime:/etc/localtime:ro\n      - db:/var')
  expect((await findingsOf({ compose: clock })).findings).toEqual([])
})
