import { expect, test } from 'vitest'
import { waitForService } from '../../../src/agent/boxes/wait-for-service.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const box = { slug: 'oak', project: { name: 'oak' } } as unknown as LocalBox
const { signal } = new AbortController()

const dying = (log: string) =>
  ({ containers: async () => [{ id: 'c1', service: 'synapse', restartCount: 3 }], logs: async () => log }) as unknown as ContainerEngine

const stars = '*'.repeat(82)

test.each([
  [
    'the reason above the line that ends it',
    `${stars}\n Error during initialisation:\n    no password supplied\n${stars}\n`,
    'no password supplied',
  ],
  ['that nothing was said', '\n\n', 'it says nothing'],
])('of a server that dies again and again its last words are told: %s', async (_, log, words) => {
  const waited = waitForService({ engine: dying(log), clock: manualClock() }, { signal }, box, 'synapse', async () => false)
  await expect(waited).rejects.toMatchObject({ code: 'BOX_UNHEALTHY', message: `synapse of oak dies again and again: ${words}` })
})

test('a server that answers is up, however often it died while its database was not', async () => {
  const waited = waitForService({ engine: dying(''), clock: manualClock() }, { signal }, box, 'synapse', async () => true)
  await expect(waited).resolves.toBeUndefined()
})
