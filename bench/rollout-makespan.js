import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RehearsalRequest } from '../dist/core/rollouts/index.js'
import { rehearseInWorker } from '../dist/daemon/rehearse-in-worker.js'
import { rehearsals } from '../dist/daemon/rollouts/testing.js'
import { rolloutDeps, seedRollout } from './rollout-fleet.js'
import { sized } from './size.js'

const fleet = sized({ hosts: 100, boxesPerHost: 10 }, { hosts: 3, boxesPerHost: 2 })
const boxes = fleet.hosts * fleet.boxesPerHost
const [maxRatio, maxSeconds] = [1.02, 30]

/**
 * A rehearsal of 1,000 boxes: real engine, real agents, virtual time. The bound: the boxes of each phase one after the other on three workers
 * that never wait, which is the sum of their durations as they were, divided by three; and never less than the longest of them, because
 * a box cannot be shared.
 */
export async function rolloutMakespan() {
  const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const folder = mkdtempSync(join(scratch, 'tenantry-bench-'))
  try {
    const databaseUrl = `sqlite:${join(folder, 'tenantry.db')}`
    await seedRollout(databaseUrl, fleet)
    const rehearse = rehearsals({ ...rolloutDeps(undefined, 'bench'), rehearse: rehearseInWorker(databaseUrl) })
    const begun = process.cpuUsage()
    const played = await rehearse(RehearsalRequest.parse({}), new AbortController().signal)
    const { user, system } = process.cpuUsage(begun)
    const seconds = (user + system) / 1e6
    if (played.ended !== 'done') throw new Error(`the rehearsal ended as ${played.ended}`)
    const ratio = played.makespanMs / boundMs(played)
    return [
      {
        what: 'rollout of 1,000 boxes in virtual time against the bound of three workers',
        measured: `${ratio.toFixed(3)}×`,
        reach: `at most ${maxRatio}×`,
        ok: ratio <= maxRatio && played.boxes.length === boxes,
      },
      {
        what: 'rehearsal of 1,000 boxes, CPU',
        measured: `${seconds.toFixed(1)} s`,
        reach: `under ${maxSeconds} s`,
        ok: seconds < maxSeconds,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function boundMs({ phases, boxes }) {
  return phases.reduce((sum, { phase }) => {
    const durations = boxes.filter((box) => box.phase === phase && box.endsMs !== null).map(({ beginsMs, endsMs }) => endsMs - beginsMs)
    return sum + Math.max(0, ...durations, durations.reduce((all, ms) => all + ms, 0) / 3)
  }, 0)
}
