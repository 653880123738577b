import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { packageRoot } from '../../src/node/index.ts'

type Service = Readonly<{ healthcheck: Readonly<Record<string, unknown>>; depends_on?: unknown }>

async function services(): Promise<[name: string, service: Service][]> {
  const text = await readFile(packageRoot('config/box-template/compose.yaml'), 'utf8')
  const { services } = parse(text.replace(/\{\{\w+\}\}/g, '1'), { merge: true }) as { services: Record<string, Service> }
  return Object.entries(services)
}

test('a box is asked by its engine how it is once a minute and service: each time starts a program in a container', async () => {
  expect((await services()).map(([name, { healthcheck }]) => [name, healthcheck.interval])).toEqual(
    ['edge', 'synapse', 'postgres', 'minio'].map((name) => [name, '60s']),
  )
})

test('nothing waits for a health that may be known a minute late', async () => {
  expect((await services()).flatMap(([name, { depends_on }]) => (depends_on ? [[name, depends_on]] : []))).toEqual([
    ['synapse', ['postgres']],
  ])
})

test('a health check says nothing that compose refuses over an engine before 25, such as how often to look at first', async () => {
  const said = new Set((await services()).flatMap(([, { healthcheck }]) => Object.keys(healthcheck)))
  expect([...said].sort()).toEqual(['interval', 'retries', 'start_period', 'test', 'timeout'])
})
