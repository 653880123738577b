import { readdir, readFile, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { CompletionDeps } from '../../../src/agent/adoption/index.ts'
import { readBoxSecrets, readProbeAccount } from '../../../src/agent/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { images } from '../simulated/boxes.ts'
import { aCompletion, aContext, aStack, handMade, homeserver } from './a-stack.ts'

const edgeFiles = ['answers.inc', 'box.conf', 'cors.inc', 'to-synapse.inc'].map((name) => `edge/conf.d/${name}`)

test('a look shows all that lacks as one difference, without a secret in it, and changes nothing', async () => {
  const stack = await aStack()
  const before = await stack.all()
  const { applied, diff, findings, report } = await stack.run()
  expect({ applied, findings, managed: report.managed }).toEqual({ applied: false, findings: [], managed: false })
  expect(diff.split('\n').filter((line) => line.startsWith('+++ '))).toEqual(
    ['docker-compose.yml', 'synapse/homeserver.yaml', 'synapse/tenantry-appservice.yaml', ...edgeFiles].map((path) => `+++ b/${path}`),
  )
  expect(diff.split('--- /dev/null')[0]).toMatchInlineSnapshot(`
    "--- a/docker-compose.yml
    +++ b/docker-compose.yml
    @@ -1,12 +1,12 @@
     # Our chat. Ask Ben before you touch it.
     services:
       synapse:
    -    image: registry.test/tenantry/synapse:\${SYNAPSE_TAG}   # see .env
    -    restart: always
    -    ports: ["127.0.0.1:8008:8008"]
    +    image: registry.test/tenantry/synapse:v1.157.1   # see .env
    +    restart: unless-stopped
         volumes:
           - ./synapse:/data
           - media:/media
    +    stop_grace_period: 2m
       postgres:
         image: registry.test/tenantry/postgres:15.14
         environment:
    @@ -14,11 +14,45 @@
           - POSTGRES_PASSWORD=[secret]
         volumes:
           - db:/var/lib/postgresql/data
    +    restart: unless-stopped
    +    stop_signal: SIGINT
    +    stop_grace_period: 2m
       minio:
         image: registry.test/tenantry/minio:RELEASE.2025-09-07T16-13-09Z
         command: server /data
         environment: { MINIO_ROOT_USER: school, MINIO_ROOT_PASSWORD: [secret] }
         volumes: [objects:/data]
    +    restart: unless-stopped
    +  edge:
    +    image: registry.test/tenantry/edge:1.22.1
    +    restart: unless-stopped
    +    labels:
    +      dev.tenantry.box: elm
    +      dev.tenantry.box-id: box_elm
    +    logging:
    +      driver: json-file
    +      options:
    +        max-size: 10m
    +        max-file: "3"
    +    ports:
    +      - 127.0.0.1:8008:8080
    +      - 127.0.0.1:18002:8081
    +      - 127.0.0.1:18003:8082
    +    volumes:
    +      - ./edge/conf.d:/etc/nginx/conf.d:ro
    +      - ./edge/fence:/etc/nginx/fence:ro
    +    healthcheck:
    +      test:
    +        - CMD
    +        - curl
    +        - -fsS
    +        - -o
    +        - /dev/null
    +        - http://127.0.0.1:8083/
    +      interval: 60s
    +      timeout: 10s
    +      retries: 3
    +      start_period: 30s
     volumes:
       db:
       media:
    --- a/synapse/homeserver.yaml
    +++ b/synapse/homeserver.yaml
    @@ -8,6 +8,17 @@
         resources:
           - names: [client, federation]
             compress: false
    +    x_forwarded: true
    +  - port: 8009
    +    type: http
    +    tls: false
    +    x_forwarded: false
    +    bind_addresses:
    +      - 0.0.0.0
    +    resources:
    +      - names:
    +          - client
    +        compress: false
     database:
       name: psycopg2
       args: { user: synapse, password: [secret], dbname: synapse, host: postgres }
    @@ -16,3 +27,16 @@
     macaroon_secret_key: [secret]
     # registration is off
     enable_registration: false
    +app_service_config_files:
    +  - /data/tenantry-appservice.yaml
    +rc_login:
    +  address:
    +    per_second: 9999
    +    burst_count: 9999
    +  account:
    +    per_second: 9999
    +    burst_count: 9999
    +  failed_attempts:
    +    per_second: 0.02
    +    burst_count: 100
    +registration_shared_secret: [secret]
    "
  `)
  for (const known of ['correct-horse', 'staple-9', 'our-macaroons']) expect(diff).not.toContain(known)
  expect(await stack.all()).toEqual(before)
})

test('a second look shows the same, to the last byte of what is hidden', async () => {
  const stack = await aStack()
  const first = await stack.run()
  expect(await stack.run()).toMatchObject({ diff: first.diff, diffSha256: first.diffSha256 })
})

test('what was seen is done: the box is proven, its secrets delivered, and it is managed', async () => {
  const stack = await aStack()
  const { context, delivered } = aContext()
  const { applied, report, probe, findings } = await stack.run(await stack.seen(), undefined, context)
  expect({ applied, findings, managed: report.managed, verdict: probe?.verdict }).toEqual({
    applied: true,
    findings: [],
    managed: true,
    verdict: 'ok',
  })
  const box = (await stack.boxes.find('elm'))!
  expect(box).toMatchObject({ managed: true, chatDomain: 'chat.elm.example', ports: { public: 8008, platform: 18_002, probe: 18_003 } })
  const secrets = (await readBoxSecrets(box.project))!
  expect(secrets).toMatchObject({
    postgresPassword: 'correct-horse-battery',
    minioRootPassword: 'staple-9-staple',
    macaroonSecret: 'our-macaroons-are-secret',
    signingKeyId: 'a_keys',
  })
  expect(delivered).toEqual([
    {
      edgeSecret: secrets.edgeSecret,
      appserviceToken: secrets.appserviceToken,
      registrationSharedSecret: secrets.registrationSharedSecret,
    },
  ])
  expect(await readProbeAccount(box.project)).toMatchObject({ userId: '@tenantry-probe:chat.elm.example' })
  expect((await stat(join(stack.folder, 'edge/fence'))).mode & 0o777).toBe(0o755)
  expect(await readdir(join(stack.host.folder, 'state/adoption'))).toEqual([])
})

test('the files are what the template wants, and keep what people wrote', async () => {
  const stack = await aStack()
  await stack.run(await stack.seen())
  const compose = await stack.text('docker-compose.yml')
  expect(compose).toMatch(/^# Our chat\. Ask Ben before you touch it\.$/m)
  const { services } = parse(compose)
  expect(services.synapse).toMatchObject({ image: images.synapse, restart: 'unless-stopped', stop_grace_period: '2m' })
  expect(services.synapse.ports).toBeUndefined()
  expect(services.postgres).toMatchObject({ stop_signal: 'SIGINT', stop_grace_period: '2m' })
  expect(services.edge).toMatchObject({
    image: images.edge,
    ports: ['127.0.0.1:8008:8080', '127.0.0.1:18002:8081', '127.0.0.1:18003:8082'],
  })
  const chat = await stack.text('synapse/homeserver.yaml')
  expect(chat).toMatch(/^# registration is off$/m)
  expect(parse(chat)).toMatchObject({
    listeners: [
      { port: 8008, x_forwarded: true },
      { port: 8009, x_forwarded: false },
    ],
    app_service_config_files: ['/data/tenantry-appservice.yaml'],
    rc_login: { address: { burst_count: 9999 }, failed_attempts: { burst_count: 100 } },
    registration_shared_secret: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(parse(await stack.text('synapse/tenantry-appservice.yaml'))).toMatchObject({
    id: 'tenantry',
    sender_localpart: 'tenantry',
    rate_limited: false,
  })
})

test('the former files lie beside the new ones', async () => {
  const stack = await aStack()
  await stack.run(await stack.seen())
  const names = await readdir(stack.folder)
  const [copy] = names.filter((name) => /^docker-compose\.yml\.\d{4}-.*Z\.adopt\.box_elm\.1\.complete$/.test(name))
  expect(await stack.text(copy!)).toBe(handMade)
})

test('a box that was completed has nothing left to complete, and one that is ordered twice is done once', async () => {
  const stack = await aStack()
  const payload = await stack.seen()
  const first = await stack.run(payload)
  expect(await stack.run(payload)).toEqual(first)
  expect(await stack.run()).toMatchObject({ applied: false, diff: '', findings: [], report: { managed: true } })
  const { context } = aContext({ commandId: 'adopt.box_elm.2.complete' })
  await expect(stack.run(payload, undefined, context)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
})

test('a stack that became a box under another name since is left to that one', async () => {
  const stack = await aStack()
  const payload = await stack.seen()
  const elm = (await stack.boxes.find('elm'))!
  await stack.boxes.put({ ...elm, slug: 'ash', boxId: 'box_ash', managed: true })
  const before = await stack.all()
  await expect(stack.run(payload)).rejects.toMatchObject({ code: 'ALREADY_EXISTS', message: expect.stringContaining('ash') })
  expect(await stack.all()).toEqual(before)
})

test('when the stack changed since it was seen, nothing is done: look again', async () => {
  const stack = await aStack()
  const payload = await stack.seen()
  await writeFile(join(stack.folder, 'docker-compose.yml'), `${handMade}# one more word\n`)
  const before = await stack.all()
  await expect(stack.run(payload)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringMatching(/show the diff again/) })
  expect(await stack.all()).toEqual(before)
})

test('only what changed is recreated', async () => {
  const stack = await aStack()
  const ids = async () =>
    Object.fromEntries((await stack.host.engine.containers(stack.box.project)).map(({ service, id }) => [service, id]))
  const before = await ids()
  const compose = handMade.replace('command: server /data', 'command: server /data\n    restart: unless-stopped')
  await writeFile(join(stack.folder, 'docker-compose.yml'), compose)
  await stack.host.engine.up(stack.box.project, ['minio'])
  const minio = (await ids()).minio
  await stack.run(await stack.seen())
  const after = await ids()
  expect(after.minio).toBe(minio)
  expect(after.postgres).not.toBe(before.postgres)
  expect(Object.keys(after).sort()).toEqual(['edge', 'minio', 'postgres', 'synapse'])
})

test.each([
  ['the new chat server never answers well', { kind: 'probe-fails' }, 'PROBE_FAILED'],
  ['the database does not start again', { kind: 'dies-at-start', image: 'postgres', times: 1 }, 'BOX_UNHEALTHY'],
] as const)('when %s, the former files are back and the box runs as it did', async (_, fault, code) => {
  const stack = await aStack()
  const payload = await stack.seen()
  const before = await stack.all()
  const heal = stack.host.inject(fault)
  await expect(stack.run(payload)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/previous files are restored and the box runs as before/),
  })
  heal()
  expect(await stack.all()).toEqual(before)
  expect([...stack.host.running('elm')].sort()).toEqual(['minio', 'postgres', 'synapse'])
  expect(await stack.boxes.find('elm')).toEqual(stack.box)
  // The same order is not tried again, a new one is.
  await expect(stack.run(payload)).rejects.toMatchObject({ code })
  const { context } = aContext({ commandId: 'adopt.box_elm.2.complete' })
  expect(await stack.run(payload, undefined, context)).toMatchObject({ applied: true })
})

test.each([
  [
    'rows are missing in the recreated database',
    (deps: CompletionDeps): CompletionDeps => {
      let counted = 0
      const countRows: typeof deps.servers.countRows = async (): Promise<Record<string, number>> =>
        counted++ === 0 ? { events: 7, users: 2 } : { events: 0 }
      return { ...deps, servers: { ...deps.servers, countRows } }
    },
    /lost rows when it was recreated: events has 0 rows instead of 7; users has no rows instead of 2/,
  ],
  [
    'its rows cannot be counted',
    (deps: CompletionDeps): CompletionDeps => {
      const countRows: typeof deps.servers.countRows = () => Promise.reject(problem('BOX_UNHEALTHY', 'The rows could not be counted'))
      return { ...deps, servers: { ...deps.servers, countRows } }
    },
    /could not be counted.*previous files are restored and the box runs as before/,
  ],
  [
    'the database comes up on another volume',
    (deps: CompletionDeps): CompletionDeps => {
      let isFirst = true
      const up: typeof deps.engine.up = async (project, services, signal) => {
        if (!services.includes('postgres') || !isFirst) return deps.engine.up(project, services, signal)
        isFirst = false
        const composeFile = `${project.composeFile}.other`
        await writeFile(composeFile, (await readFile(project.composeFile, 'utf8')).replace(/^ {2}db:/m, '  db: { name: elsewhere }'))
        await deps.engine.up({ ...project, composeFile }, services, signal)
        await unlink(composeFile)
      }
      return { ...deps, engine: { ...deps.engine, up } }
    },
    /postgres of elm no longer mounts volume elm_db at \/var\/lib\/postgresql\/data/,
  ],
] as const)('when %s, the chat server is not started on it, and the former files are back', async (_, around, says) => {
  const stack = await aStack()
  stack.host.traffic.sendMessage(stack.box)
  const content = () => stack.host.traffic.content(stack.box)
  const [payload, before, messages] = [await stack.seen(), await stack.all(), content()]
  const { context } = aContext()
  await expect(stack.run(payload, await stack.agent(around), context)).rejects.toMatchObject({
    code: 'BOX_UNHEALTHY',
    message: expect.stringMatching(says),
  })
  expect(await stack.all()).toEqual(before)
  expect([...stack.host.running('elm')].sort()).toEqual(['minio', 'postgres', 'synapse'])
  expect(content()).toMatchObject({ messages: messages.messages })
})

test('what somebody changed or made while the box was completed is still there when the former files are back', async () => {
  const stack = await aStack()
  const payload = await stack.seen()
  const changed = { 'docker-compose.yml': `${handMade}# by Ben, just now\n`, 'synapse/tenantry-appservice.yaml': 'of another\n' }
  const agent = await stack.agent((deps) => ({
    ...deps,
    servers: {
      ...deps.servers,
      createProbeAccount: async () => {
        for (const [path, text] of Object.entries(changed)) await writeFile(join(stack.folder, path), text)
        throw problem('PROBE_FAILED', 'as it is wanted')
      },
    },
  }))
  await expect(stack.run(payload, agent)).rejects.toMatchObject({ code: 'PROBE_FAILED' })
  const after = await stack.all()
  expect(after).toMatchObject(changed)
  expect(after['synapse/homeserver.yaml']).toBe(homeserver)
})

test('a platform that does not take the secrets leaves the box as it was', async () => {
  const stack = await aStack()
  const before = await stack.all()
  const deliver = async () => {
    throw problem('LEASE_LOST', 'somebody else has it')
  }
  await expect(stack.run(await stack.seen(), undefined, aContext({ deliver }).context)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  expect(await stack.all()).toEqual(before)
})

test('a record that was written by a disk that then failed says again that the box is only observed', async () => {
  const stack = await aStack()
  const payload = await stack.seen()
  const deps = await stack.agent()
  const before = await deps.boxes.find('elm')
  let failed = false
  const put: typeof deps.boxes.put = async (box) => {
    await deps.boxes.put(box)
    if (failed || !box.managed) return
    failed = true
    throw problem('DISK_FULL', 'the folder of the record cannot be synced')
  }
  await expect(stack.run(payload, { ...deps, boxes: { ...deps.boxes, put } })).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(failed).toBe(true)
  expect(await deps.boxes.find('elm')).toEqual(before)
})

test('an edge image that this host does not allow, and ports that are taken, are refused', async () => {
  const stack = await aStack()
  await expect(stack.run(aCompletion({ edgeImage: 'evil.test/edge:1' }))).rejects.toMatchObject({ code: 'IMAGE_NOT_ALLOWED' })
  await expect(stack.run(aCompletion({ ports: { public: 1, platform: 1, probe: 2 } }))).rejects.toMatchObject({ code: 'PORT_TAKEN' })
  const busy = await stack.agent((deps) => ({ ...deps, portInUse: async (port) => port === 18_002 || port === 8008 }))
  // 8008 is the stack's own.
  await expect(stack.run(aCompletion(), busy)).rejects.toMatchObject({
    code: 'PORT_TAKEN',
    message: expect.stringMatching(/platform port 18002/),
  })
  await stack.boxes.put({ ...stack.box, slug: 'oak', boxId: 'box_oak', ports: { public: 8008, platform: 1, probe: 2 } })
  await expect(stack.run()).rejects.toMatchObject({ code: 'PORT_TAKEN', message: expect.stringMatching(/box oak/) })
})

test('a link in place of a config shows us no other file of the host', async () => {
  const stack = await aStack()
  await unlink(join(stack.folder, 'synapse/homeserver.yaml'))
  await symlink('/etc/passwd', join(stack.folder, 'synapse/homeserver.yaml'))
  await expect(stack.run()).rejects.toMatchObject({ code: 'FOLDER_UNSAFE', message: expect.stringMatching(/homeserver\.yaml/) })
})
