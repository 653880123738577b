import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { testsOfUnchangedAreas } from './test/support/changed-areas.ts'
import { slowestFirst } from './test/support/slowest-first.ts'

/**
 * `npm test` is for the minutes before a commit: on SQLite, with the thorough and slow tests of those areas alone (test/areas.json) in which
 * something is not committed. `npm run test:all` runs everything on both dialects. CI does too, but for areas that did not change. A file that
 * is named on the command line always runs.
 */
const isWhole = process.env.TENANTRY_TESTS === 'all'
const changed = process.env.CHANGED_AREAS ?? (isWhole ? undefined : '')
const leftOut = testsOfUnchangedAreas(changed).filter((file) => !process.argv.includes(file))

const slowest = [
  'update/kill-fence-modes.test.ts',
  'daemon/strange-requests.test.ts',
  'isolation/streams.test.ts',
  'isolation/other-tenants.test.ts',
  'update/engine-unavailable.test.ts',
  'daemon/who-may-call.test.ts',
  'store/store.test.ts',
  'sandbox/attacks.test.ts',
  'program/first-start.test.ts',
  'daemon/replicas.test.ts',
  'restore/kill.test.ts',
  'update/kill.test.ts',
  'isolation/tokens.test.ts',
]

/** Tests write and sync small files all the time; where memory has room for them they need not wait for a disk. */
const inMemory = '/dev/shm'
const roomBytes = 2e9

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > roomBytes
  } catch {
    return false
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: ['test/e2e/**', 'node_modules/**', ...leftOut],
    env: { TMPDIR: join(hasRoom(inMemory) ? inMemory : tmpdir(), `tenantry-tests-${process.pid}`) },
    // One PostgreSQL for the whole run; each test file makes a database of its own in it.
    globalSetup: ['test/support/temp-folder.ts', 'test/support/postgres-server.ts'],
    experimental: { fsModuleCache: true },
    // What a test file imports is read once per worker and not once per file, which cost more than all tests together. So modules keep nothing
    // that a test can change, and a test that touches the process (its environment) puts it back.
    isolate: false,
    // Tests wait for servers beside them more than they compute: one processor need not be kept free.
    maxWorkers: '100%',
    sequence: { sequencer: slowestFirst(slowest) },
    // Real databases, servers and programs do the work that is waited for here, and on a machine with much else to do it takes its time.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
