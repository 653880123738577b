import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { execa } from 'execa'
import { Secret, TOTP } from 'otpauth'
import { fetch, Agent as HttpAgent } from 'undici'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { api } from '../../src/core/api.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import type { Api, RunningDaemon } from '../support/running-daemon.ts'
import { dockerEnvironment, readTestbed } from '../testbed/testbed.ts'
import { freePorts, ownSubnet } from './support/ports.ts'
import { eventually } from './support/programs.ts'

// The image of the daemon and deploy/compose.yaml, built and started by the very lines of deploy/README.md.

const repository = resolve(import.meta.dirname, '../..')
const name = `tenantry-deploy-${process.pid}`
/** One name for all runs, so that the engine keeps the layers for the next one. */
const image = 'tenantry-testbed/tenantryd'
const password = 'a long password for tests'
const testbed = readTestbed()

let folder: string
let base: string
let url: string
let ca: string
let http: HttpAgent

/** Runs lines of bash in the copy of the checkout; answers what they print. */
async function sh(lines: string): Promise<string> {
  const { stdout } = await execa('bash', ['-euo', 'pipefail', '-c', lines], {
    cwd: folder,
    env: { ...dockerEnvironment(testbed), DOCKER_BUILDKIT: '0' },
    extendEnv: false,
    stdin: 'ignore',
  })
  return stdout
}
const compose = () => `docker compose -p ${name} -f deploy/compose.yaml -f images.yaml`
const dc = (args: string) => sh(`${compose()} ${args}`)

/** The blocks of the guide, with values of this machine: build, settings and start, first administrator, replacement of the daemons. */
async function blocks(ports: number): Promise<string[]> {
  const here: readonly (readonly [string, string])[] = [
    ['npm ci && npm run package', ':'],
    ['docker build', `docker build --quiet --build-arg BASE_IMAGE=${base}`],
    ['-t tenantry/tenantryd:', `-t ${image}:`],
    ['docker compose -f deploy/compose.yaml', compose()],
    [
      'TENANTRY_SERVER_NAME=tenantry.example',
      [
        'TENANTRY_SERVER_NAME=localhost',
        `TENANTRY_HTTP=127.0.0.1:${ports}`,
        `TENANTRY_HTTPS=127.0.0.1:${ports + 1}`,
        `TENANTRY_NETWORK=10.213.${ownSubnet()}`,
      ].join('\n'),
    ],
    ['--name anna\n', '--name anna < password\n'],
    ['dc up', `${compose()} up`],
  ]
  const text = await readFile(join(folder, 'deploy/README.md'), 'utf8')
  const section = text.slice(text.indexOf('## Run two daemons'), text.indexOf('## Pin the base image'))
  for (const [example] of here) expect(section).toContain(example)
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) =>
    here.reduce((typed, [example, ours]) => typed.replaceAll(example, ours), block),
  )
}

/** The images of the test bed in the places of the official ones; all else of deploy/compose.yaml is as it is. */
const images = (version: string) => {
  const of = (ref: string) => ({ image: ref })
  const daemon = of(`${image}:${version}`)
  const { edge, 'postgres-17': postgres, 'minio-former': objects } = testbed.images
  const others = { edge: of(edge.ref), postgres: of(postgres.ref), redis: of(base), objects: of(objects.ref) }
  return stringify({ services: { 'daemon-1': daemon, 'daemon-2': daemon, ...others } })
}

/** The typed client through the edge, whose certificate only this client trusts. */
function client(authorization?: string): Api {
  const trusting = async (input: string, { body, headers, ...init }: RequestInit) => {
    // The form of the platform is not that of the library: it is sent as bytes.
    const form = body instanceof FormData ? new Response(body) : undefined
    const type = form?.headers.get('content-type')
    const sent = { ...Object.fromEntries(new Headers(headers)), ...(type && { 'content-type': type }) }
    return fetch(input, { ...init, headers: sent, body: form ? await form.arrayBuffer() : body, dispatcher: http } as object)
  }
  const given = authorization === undefined ? {} : { headers: () => ({ authorization }) }
  const deps = { baseUrl: url, fetch: trusting as unknown as typeof globalThis.fetch, ...given }
  return Object.fromEntries(Object.entries(api).map(([feature, contract]) => [feature, makeClient(contract, deps)])) as Api
}

let anna: Api
let version: string
let replace: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-deploy-'))
  version = JSON.parse(await readFile('package.json', 'utf8')).version
  await cp('config/edge', join(folder, 'config/edge'), { recursive: true })
  for (const file of ['README.md', 'compose.yaml', 'tenantryd.Dockerfile']) await cp(`deploy/${file}`, join(folder, 'deploy', file))
  const packages = join(folder, '.tenantry/packages')
  await execa(process.execPath, ['scripts/package.js', packages], { stderr: 'inherit' })
  const makeBase = ['test/e2e/deploy/platform-base.sh', join(packages, `tenantry-${version}.tgz`)]
  base = (await execa('bash', makeBase, { cwd: repository, stderr: 'inherit' })).stdout
  await writeFile(join(folder, 'images.yaml'), images(version))
  await writeFile(join(folder, 'password'), `${password}\n`)
  const certificate =
    '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'
  await sh(`mkdir deploy/tls; openssl req ${certificate} -keyout deploy/tls/platform.key -out deploy/tls/platform.pem 2>/dev/null`)

  const ports = await freePorts(2)
  url = `https://localhost:${ports + 1}`
  ca = await readFile(join(folder, 'deploy/tls/platform.pem'), 'utf8')
  http = new HttpAgent({ connect: { ca } })
  const [build, start, administrator, replacement] = (await blocks(ports)) as [string, string, string, string]
  replace = replacement
  const former = await sh(`docker image inspect --format '{{.Id}}' ${image}:${version} 2>/dev/null || true`)
  await sh(build)
  // Its layers that the new one does not share.
  if (former) await sh(`docker rmi ${former} >/dev/null 2>&1 || true`)
  await sh(start)
  expect(await sh(administrator)).toMatch(/created anna with the role admin[\s\S]*✓ files [\s\S]*✓ redis [\s\S]*\n0 failures/)

  const login = await client().admin.login({ body: { name: 'anna', password } })
  expect(login.setup).toEqual(['totp'])
  anna = client(`Bearer ${login.token}`)
  const { secret } = await anna.admin.enrolTotp({ body: { password } })
  await anna.admin.confirmTotp({ body: { totp: new TOTP({ secret: Secret.fromBase32(secret) }).generate() } })
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await dc('logs --tail 40'))
})
afterAll(async () => {
  await http?.close()
  await dc('down --volumes --timeout 10')
  await rm(folder, { recursive: true })
})

test('the command line sees the platform through the edge, and a file of a user is stored as an object', async () => {
  const { stdout } = await execa('curl', ['-sS', '--fail', '--cacert', join(folder, 'deploy/tls/platform.pem'), `${url}/readyz`])
  expect(JSON.parse(stdout)).toMatchObject({ ready: true, version: expect.stringContaining(version) })
  await anna.tenants.createTenant({ body: { slug: 'linden', name: 'Linden', plan: 'light', chatDomain: 'chat.linden.example' } })

  // A user logs in with the password of a chat server, which this platform has none of: the session is made in the database.
  const secretKey = /TENANTRY_SECRET_KEY=(.+)/.exec(await readFile(join(folder, 'deploy/tenantryd.env'), 'utf8'))?.[1] ?? ''
  const databasePassword = /TENANTRY_POSTGRES_PASSWORD=(.+)/.exec(await readFile(join(folder, 'deploy/.env'), 'utf8'))?.[1]
  const address = await sh(`docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' ${name}-postgres-1`)
  const env = {
    TENANTRY_DATABASE: `postgres://tenantry:${databasePassword}@${address}/tenantry`,
    TENANTRY_SECRET_KEY: secretKey,
    TENANTRY_DATA_DIR: join(folder, 'data'),
  }
  const daemon = { config: loadConfig({ env }) } as RunningDaemon
  const user = client(await aPlatformUser(daemon, { tenant: 'linden', roles: ['tenant-admin'] }))
  const { id: spaceId } = await user.spaces.createSpace({ body: { name: '4b', type: 'GROUP', visibility: 'PRIVATE' } })
  const upload = { content: new Blob(['hello']), fileName: 'a.txt' }
  const { id: fileId } = await user.files.uploadFile({ params: { spaceId }, upload })
  expect(await new Response(await user.files.downloadFile({ params: { spaceId, fileId } })).text()).toBe('hello')
  expect(await dc('exec -T objects find /data/tenantry/files')).toContain(fileId)
})

test('a daemon is confined and healthy, and its image has no secret', async () => {
  for (const daemon of ['daemon-1', 'daemon-2']) {
    const [{ Config, HostConfig, State }] = JSON.parse(await sh(`docker inspect ${name}-${daemon}-1`))
    expect(State.Health.Status).toBe('healthy')
    expect(Config.User).toBe('tenantryd')
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges:true'] })
    expect(await dc(`exec -T ${daemon} sh -c 'id -u; grep CapEff /proc/1/status; touch /opt/tenantry/x 2>&1 || true'`)).toMatch(
      /^10001\nCapEff:\s+0+\n.*Read-only file system$/,
    )
  }
  const seen = await sh(`docker inspect ${image}:${version}; docker history --no-trunc ${image}:${version}`)
  const settings = (await sh('cat deploy/.env deploy/tenantryd.env')).matchAll(/^TENANTRY_\w+_(?:PASSWORD|KEY)=(.+)$/gm)
  const secrets = [...settings].map(([, value]) => value as string)
  expect(secrets).toHaveLength(4)
  for (const secret of secrets) expect(seen).not.toContain(secret)
  const unwanted =
    "/opt/tenantry /var/lib/tenantryd -mindepth 1 -name node_modules -prune -o '(' -name .npmrc -o -name '*.env' -o -path '/var/lib/*' ')' -print"
  expect(await sh(`docker run --rm --entrypoint find ${image}:${version} ${unwanted}`)).toBe('')
})

/** Calls of an operator, one after the other until `stop`: a tenant is created and read. What fails is in `failures`. */
function startLoad(caller: string) {
  const failures: unknown[] = []
  let answered = 0
  let isStopped = false
  const run = async () => {
    for (let n = 0; !isStopped; n++) {
      const slug = `${caller}-${n}`
      const about = { slug, name: slug, plan: 'light', chatDomain: `chat.${slug}.example` } as const
      await anna.tenants.createTenant({ body: about }).catch((error: unknown) => failures.push(error))
      await anna.tenants.showTenant({ params: { slug } }).catch((error: unknown) => failures.push(error))
      answered += 2
    }
  }
  const running = run()
  const more = (count: number) => {
    const until = answered + count
    return eventually(`${count} more calls are answered`, async () => answered >= until, { everyMs: 50 })
  }
  const stop = async () => {
    isStopped = true
    await running
    return failures
  }
  return { more, stop }
}

test('a daemon is stopped, and both are replaced with another setting, while no call fails', async () => {
  const loads = ['ash', 'elm'].map(startLoad)
  const more = (count: number) => Promise.all(loads.map((load) => load.more(count)))
  await more(20)
  await dc('stop daemon-1')
  await more(50)
  await dc('start daemon-1')
  await sh('echo TENANTRY_ALERTS_MAIL_TO=ops@school.example >> deploy/tenantryd.env')
  await sh(replace)
  await more(50)
  expect((await Promise.all(loads.map((load) => load.stop()))).flat()).toEqual([])
  for (const daemon of ['daemon-1', 'daemon-2']) expect(await dc(`exec -T ${daemon} env`)).toContain('TENANTRY_ALERTS_MAIL_TO=ops@')
})
