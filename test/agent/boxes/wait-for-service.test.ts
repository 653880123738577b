import { expect, test } from 'vitest'
import { waitForService } from '../../../src/agent/boxes/wait.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const box = { slug: 'oak', project: { name: 'oak' } } as unknown as LocalBox
const { signal } = new AbortController()

/** How often it has died at each look; the last stays. */
const dying = (deaths: readonly number[], log = '') => {
  const looks = [...deaths]
  const restartCount = () => (looks.length > 1 ? looks.shift() : looks[0])
  const containers = async () => [{ id: 'c1', service: 'synapse', restartCount: restartCount() }]
  return { containers, logs: async () => log } as unknown as ContainerEngine
}

/** Time goes on by itself. */
function running() {
  const clock = manualClock()
  return { ...clock, sleep: (ms: number) => clock.advance(ms) }
}

const stars = '*'.repeat(82)

test.each([
  [
    'the reason above the line that ends it',
    `${stars}\n Error during initialisation:\n    no password supplied\n${stars}\n`,
    'no password supplied',
  ],
  ['that nothing was said', '\n\n', 'no log output'],
])('a crash loop is reported with the last log line: %s', async (_, log, words) => {
  const waited = waitForService({ engine: dying([0, 1, 3], log), clock: running(), signal }, box, {
    service: 'synapse',
    isUp: async () => false,
  })
  await expect(waited).rejects.toMatchObject({ code: 'BOX_UNHEALTHY', message: `synapse of oak is in a crash loop: ${words}` })
})

test('a server that died while its database was not up is waited for: the engine starts it again after a pause', async () => {
  const answers = [false, false, false, true]
  const waited = waitForService({ engine: dying([7, 7, 8]), clock: running(), signal }, box, {
    service: 'synapse',
    isUp: async () => answers.shift() ?? false,
  })
  await expect(waited).resolves.toBeUndefined()
})

test('one that somebody started by hand meanwhile is counted from there', async () => {
  const waited = waitForService({ engine: dying([7, 0, 3]), clock: running(), signal }, box, {
    service: 'synapse',
    isUp: async () => false,
  })
  await expect(waited).rejects.toThrow('crash loop')
})
