import { join } from 'node:path'
import { describe } from 'vitest'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { aHost } from '../simulated/boxes.ts'
import { snapshotSuite } from '../suites/snapshot-suite.ts'
import { resticProgram } from './restic-program.ts'

snapshotSuite('simulated snapshots', async () => ({
  store: (await aHost()).snapshots,
  repository: { repository: 'sim:suite', password: 'a key', env: {}, mayCreate: true },
}))

const program = resticProgram()
describe.skipIf(!program)('with a real restic', () => {
  snapshotSuite('restic snapshots', async (folder) => ({
    store: resticSnapshots({ program: program as string, owner: folder, cacheFolder: join(folder, 'cache') }),
    repository: { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true },
  }))
})
