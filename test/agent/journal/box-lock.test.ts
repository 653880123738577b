import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endSurvivors, fileLocks, memoryLocks, ownedEnvironment } from '../../../src/agent/journal/index.ts'
import { systemClock } from '../../../src/node/index.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-locks-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe.each([
  ['of files', () => fileLocks(folder)],
  ['in memory', memoryLocks],
])('box locks %s', (_, makeLocks) => {
  test('two commands never have one box, and other boxes are free', async () => {
    const locks = makeLocks()
    const lock = await locks.acquire('north-school')
    await expect(locks.acquire('north-school')).rejects.toMatchObject({ code: 'BOX_HELD' })
    await (await locks.acquire('south-school')).release()
    await lock.release()
    await (await locks.acquire('north-school')).release()
  })
})

describe.runIf(process.platform === 'linux')('a killed agent', () => {
  test('leaves no lock behind', async () => {
    const child = spawn('flock', ['--exclusive', join(folder, 'north-school.lock'), 'sleep', '60'], { detached: true })
    const locks = fileLocks(folder)
    await untilHeld(locks)
    process.kill(-(child.pid as number), 'SIGKILL')
    await once(child, 'exit')
    await untilFree(locks) // its own child, which has the file too, may die a moment later
  })

  test('leaves no process behind once the next one has started; those of other owners are spared', async () => {
    const start = (owner: string) =>
      spawn('sh', ['-c', 'sleep 60 & wait'], { detached: true, env: { ...process.env, ...ownedEnvironment(owner, 'c1') } })
    const [mine, other] = [start(folder), start(`${folder}-other`)]
    const gone = once(mine, 'exit')
    await Promise.all([once(mine, 'spawn'), once(other, 'spawn')])
    expect(await endSurvivors({ clock: systemClock, owner: folder })).toBeGreaterThanOrEqual(1)
    await gone
    expect(await endSurvivors({ clock: systemClock, owner: folder })).toBe(0)
    expect(other.exitCode).toBeNull()
    process.kill(-(other.pid as number), 'SIGKILL')
  })
})

async function untilHeld(locks: ReturnType<typeof fileLocks>): Promise<void> {
  for (;;) {
    const lock = await locks.acquire('north-school').catch(() => undefined)
    if (!lock) return
    await lock.release()
    execFileSync('sleep', ['0.02'])
  }
}

async function untilFree(locks: ReturnType<typeof fileLocks>): Promise<void> {
  for (;;) {
    const lock = await locks.acquire('north-school').catch(() => undefined)
    if (lock) return lock.release()
  }
}
