import { expect, test } from 'vitest'
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
    'a database in a folder',
    { compose: handMade.replace('- db:/var/lib/postgresql/data', '- ./db:/var/lib/postgresql/data\n      - db:/backups') },
    /postgres keeps its data in \.\/db: it needs a named volume/,
  ],
  [
    'a database without a mount',
    { compose: handMade.replace('- db:/var/lib/postgresql/data', '- db:/backups') },
    /postgres keeps its data in the container itself/,
  ],
  [
    'objects in a folder',
    { compose: handMade.replace('[objects:/data]', '[./objects:/data]').replace('\n  objects:', '') },
    /minio keeps its objects in a folder/,
  ],
  [
    'media in a folder',
    { compose: handMade.replace('- media:/media', '- ./media:/media').replace('\n  media:', '') },
    /media of the chat server lie in \.\/media/,
  ],
  [
    'a database elsewhere',
    { homeserver: homeserver.replace('host: postgres', 'host: db.school.example') },
    /database is at db\.school\.example and not the service postgres/,
  ],
  ['SQLite', { homeserver: homeserver.replace('name: psycopg2', 'name: sqlite3') }, /keeps its data in sqlite3/],
  [
    'a database of another name',
    { homeserver: homeserver.replace('dbname: synapse', 'dbname: chat') },
    /database is chat of the role synapse; give both one name/,
  ],
  [
    'another server name',
    { homeserver: homeserver.replace('chat.elm.example', 'elm.example') },
    /name is elm\.example and not chat\.elm\.example/,
  ],
  ['workers', { homeserver: `${homeserver}instance_map: { main: { host: x, port: 1 } }\n` }, /runs with workers \(instance_map\)/],
  ['no passwords', { homeserver: `${homeserver}password_config: { enabled: false }\n` }, /password_config\.enabled is false/],
  ['delegated logins', { homeserver: `${homeserver}matrix_authentication_service: { enabled: true }\n` }, /delegated/],
  [
    'a port of ours that is another’s',
    { homeserver: homeserver.replace('database:', '  - { port: 8009, type: metrics }\ndatabase:') },
    /listener on port 8009 .* give it another port/,
  ],
  [
    'a config that is mounted alone',
    { compose: handMade.replace('./synapse:/data', './synapse/homeserver.yaml:/data/homeserver.yaml') },
    /mounted as a single file/,
  ],
  ['no config to be found', { compose: handMade.replace('      - ./synapse:/data\n', '') }, /lies in no folder or volume/],
  [
    'a proxy in the project',
    { compose: handMade.replace('services:\n', `services:\n  caddy: { image: "registry.test/caddy:2", ports: ["443:443"] }\n`) },
    /service caddy publishes ports: .* pass the fence/,
  ],
  [
    'TLS at the edge',
    {
      compose: handMade.replace('services:\n', `services:\n  edge: { image: "registry.test/tenantry/edge:1.22.1", ports: ["443:443"] }\n`),
    },
    /edge of elm serves TLS itself/,
  ],
  [
    'a service through an alias',
    { compose: handMade.replace('  postgres:\n', '  postgres: &db\n').replace(/ {2}minio:\n(?: {4}.*\n)+/, '  minio: *db\n') },
    /takes minio from an alias/,
  ],
  ['a switch that is there', { more: { 'edge/fence/on': '' } }, /edge\/fence\/on is there already/],
  [
    'a password no request can hold',
    { env: { minio: 'MINIO_ROOT_USER=school\nMINIO_ROOT_PASSWORD=a"b\n' } },
    /root account of minio has characters/,
  ],
]

test.each(rows)('%s keeps a stack from being completed, and is said so', async (_, change, says) => {
  const { stack, findings } = await findingsOf(change)
  expect(findings.join('\n')).toMatch(says)
  const before = await stack.all()
  const seen = await stack.seen()
  await expect(stack.run(seen)).rejects.toMatchObject({ code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(says) })
  expect(await stack.all()).toEqual(before)
})

test('a service that does not run is a finding, not a guess', async () => {
  const stack = await aStack()
  await stack.host.engine.stop(stack.box.project, ['postgres'])
  expect((await stack.run()).findings).toContainEqual(expect.stringMatching(/postgres does not run: start the stack/))
})

test('`latest` becomes the version that runs, when that is the same image, and is a finding when it is not', async () => {
  const latest = handMade.replace(/registry\.test\/tenantry\/minio:\S+/, 'registry.test/tenantry/minio:latest')
  const { findings } = await findingsOf({ compose: latest })
  expect(findings).toEqual([
    expect.stringMatching(/minio has no image with a version in its tag .*(another image|does not say its version)/),
  ])
})

test('role and database of another name than the container’s are told to the agent when both have one', async () => {
  const { stack, findings } = await findingsOf({ env: { postgres: 'POSTGRES_USER=postgres\n' } })
  expect(findings).toEqual([])
  await stack.run(aCompletion({ expected: (await stack.run()).diffSha256 }))
  expect(await stack.text('docker-compose.yml')).toMatch(/- TENANTRY_DATABASE=synapse/)
})

test('the host’s clock may be mounted', async () => {
  const clock = handMade.replace('- db:/var', '- /etc/localtime:/etc/localtime:ro\n      - db:/var')
  expect((await findingsOf({ compose: clock })).findings).toEqual([])
})
