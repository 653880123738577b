import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/daemon/config/index.ts'
import { objectPlace } from '../src/daemon/objects/index.ts'

// The files with which the platform runs in containers, as far as they can be checked without an engine.

const read = (name: string) => readFile(name, 'utf8')
type Service = { image: string; environment: Record<string, string>; command?: string[]; networks: unknown; ports?: string[] }
const daemonFile = await read('deploy/tenantryd.Dockerfile')

const given: Record<string, string> = {
  TENANTRY_SERVER_NAME: 'tenantry.example',
  TENANTRY_POSTGRES_PASSWORD: 'ab12',
  TENANTRY_OBJECTS_PASSWORD: 'cd34',
}
/** As compose does, with the file's defaults. */
const filled = (text: string) =>
  text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, kind, value) => given[name] ?? (kind === '-' ? value : `no ${name}`))
const compose = parse(filled(await read('deploy/compose.yaml')), { merge: true }) as { services: Record<string, Service> }
/** The file of settings that the guide creates. */
const keys = { TENANTRY_SECRET_KEY: Buffer.alloc(32, 1).toString('base64') }
const imageEnv = (file: string) =>
  Object.fromEntries([...file.matchAll(/(?<=^ENV .*)(TENANTRY_\w+)=(\S+)/gm)].map(([, name, value]) => [name as string, value as string]))

test.each(['daemon-1', 'daemon-2'])('the settings of %s are valid, and both are the same', (name) => {
  const { environment, networks } = compose.services[name] as Service
  const config = loadConfig({ env: { ...imageEnv(daemonFile), ...keys, ...environment } })
  expect(config).toMatchObject({
    ...{ baseUrl: 'https://tenantry.example', production: true, redis: 'redis://redis:6379', dataDir: '/var/lib/tenantryd' },
    databaseUrl: 'postgres://tenantry:ab12@postgres/tenantry',
  })
  expect(objectPlace(config)).toMatchObject({ kind: 's3', url: 'http://172.30.90.3:9000/tenantry' })
  expect(environment).toEqual(compose.services['daemon-1']?.environment)
  const { platform } = networks as { platform: { ipv4_address: string } }
  expect(compose.services.edge?.command?.join()).toContain(`server ${platform.ipv4_address}:8440;`)
})

test('by default it runs the image of this release, published by IPv4 alone, so that clients keep their addresses', async () => {
  const { version } = JSON.parse(await read('package.json'))
  for (const name of ['daemon-1', 'daemon-2']) expect(compose.services[name]?.image).toBe(`tenantry/tenantryd:${version}`)
  expect(compose.services.edge?.ports).toEqual(['0.0.0.0:80:80', '0.0.0.0:443:443'])
  for (const file of ['deploy/README.md', 'deploy/tenantryd.Dockerfile']) {
    const tags = [...(await read(file)).matchAll(/tenantry\/tenantryd:(\S+)/g)].map(([, tag]) => tag)
    expect(new Set(tags)).toEqual(new Set([version]))
  }
})

test('the addresses that daemons trust and store objects at are those of the services', () => {
  expect(compose.services.edge?.networks).toEqual({ platform: { ipv4_address: '172.30.90.2' } })
  expect(compose.services['daemon-1']?.environment.TENANTRY_TRUSTED_PROXIES).toBe('172.30.90.2')
  expect(compose.services.objects?.networks).toEqual({ platform: { ipv4_address: '172.30.90.3' } })
})

test('every placeholder of the edge is filled in', async () => {
  const placeholders = new Set((await read('config/edge/conf.d/tenantry.conf')).match(/\{\{\w+\}\}/g))
  expect(placeholders.size).toBeGreaterThan(3)
  for (const placeholder of placeholders) expect(compose.services.edge?.command?.join()).toContain(placeholder)
})

test('the base image is a build argument, so that its digest can be pinned', () => {
  const bases = [...daemonFile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(new Set(bases)).toEqual(new Set([`\${BASE_IMAGE}`]))
  expect(daemonFile.slice(0, daemonFile.indexOf('FROM '))).toMatch(/^ARG BASE_IMAGE=\S+:\S+$/m)
})

test('a daemon is confined: a read-only root, no rights, and a health check', () => {
  for (const name of ['daemon-1', 'daemon-2'])
    expect(compose.services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  expect(daemonFile).toMatch(/^USER tenantryd$/m)
  expect(daemonFile).toMatch(/^HEALTHCHECK /m)
})
