import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { beginSoftLogout, endSoftLogouts, softLogoutFile } from '../../../src/agent/boxes/index.ts'
import { memoryLocks } from '../../../src/agent/journal/index.ts'
import type { ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { readIfThere } from '../../../src/node/index.ts'
import { aFolder } from '../../support/running-daemon.ts'

const dayMs = 86_400_000

/** A box whose edge records its commands, and refuses its rules if `says` is given. */
async function aBox({ says = '' } = {}) {
  const folder = await aFolder('soft-logout')
  await mkdir(join(folder, 'edge/conf.d'), { recursive: true })
  const box = { slug: 'oak', project: { name: 'box-oak', folder, composeFile: join(folder, 'compose.yaml') } } as LocalBox
  const ran: string[] = []
  const engine = {
    containers: async () => [{ id: 'c1', service: 'edge', state: 'running' }],
    exec: async (id: string, argv: readonly string[]) => {
      ran.push([id, ...argv].join(' '))
      return { exitCode: says && argv.includes('-t') ? 1 : 0, stdout: '', stderr: says }
    },
  } as unknown as ContainerEngine
  const [clock, locks] = [manualClock(), memoryLocks()]
  const deps = { engine, clock, locks, boxes: { list: async () => [box] } }
  return { deps, box, ran, clock, locks, file: () => readIfThere(join(folder, softLogoutFile)) }
}

test('the edge takes the rules up once they are checked, without a restart, and they name their end', async () => {
  const { deps, box, ran, file } = await aBox()
  const until = await beginSoftLogout(deps, box)
  expect(Date.parse(until) - deps.clock.now().getTime()).toBe(90 * dayMs)
  expect((await file())?.split('\n')[0]).toContain(until)
  expect(ran).toEqual(['c1 nginx -t -q', 'c1 nginx -s reload'])
})

test('an edge that does not accept the rules stays as it is: a broken file would stop it at its next start', async () => {
  const { deps, box, ran, file } = await aBox({ says: 'nginx: [emerg] unknown directive "sub_filter"' })
  await expect(beginSoftLogout(deps, box)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/oak .*unknown directive "sub_filter".* fix: /),
  })
  expect([await file(), ran]).toEqual([undefined, ['c1 nginx -t -q']])
})

test('after 90 days the rules are removed, but never while a command works on the box', async () => {
  const { deps, box, ran, clock, locks, file } = await aBox()
  await beginSoftLogout(deps, box)
  await clock.advance(90 * dayMs)
  expect(await endSoftLogouts(deps)).toEqual([])
  await clock.advance(1)
  const lock = await locks.acquire('oak')
  expect([await endSoftLogouts(deps), await file()]).toEqual([[], expect.any(String)])
  await lock.release()
  ran.length = 0
  expect([await endSoftLogouts(deps), await file()]).toEqual([['oak'], undefined])
  expect(ran.at(-1)).toBe('c1 nginx -s reload')
  expect(await endSoftLogouts(deps)).toEqual([])
})
