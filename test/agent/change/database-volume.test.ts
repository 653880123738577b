import { expect, test } from 'vitest'
import { startDatabaseOn } from '../../../src/agent/change/index.ts'
import { aHost, aRunningBox } from '../simulated/boxes.ts'

/** The volumes that the database of the box has, and what is done to it until it runs on the given one. */
async function upOn(volume: string, tries: readonly string[], mounted: string) {
  const host = await aHost()
  const box = await aRunningBox(host)
  const done: string[] = []
  let volumes = [mounted]
  const engine = {
    ...host.engine,
    containers: async () => [{ service: 'postgres', volumes }],
    discard: async () => void done.push('discard'),
    removeVolume: async (name: string) => void done.push(`remove ${name}`),
    up: async () => {
      done.push('up')
      volumes = [volume]
    },
  }
  const servers = { ...host.servers, databaseReady: async () => true }
  const payload = { probe: { consecutive: 1, spacingMs: 1, timeoutMs: 1000 } }
  const run = { deps: { ...host, engine, servers }, box, payload, signal: new AbortController().signal }
  await startDatabaseOn(run as never, volume, tries)
  return done
}

test('the server of an abandoned try is removed by force before the next begins', async () => {
  expect(await upOn('data-r1-2', ['data-r1-1', 'data-r1-2'], 'data-r1-1')).toEqual(['discard', 'up', 'remove data-r1-1'])
})

test('one that serves what the box had is not', async () => {
  expect(await upOn('data-r1-1', ['data-r1-1'], 'data')).toEqual(['up'])
  expect(await upOn('data-r1-2', ['data-r1-1', 'data-r1-2'], 'data')).toEqual(['up', 'remove data-r1-1'])
})
