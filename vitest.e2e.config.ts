import { defineConfig } from 'vitest/config'
import { testsOfUnchangedAreas } from './test/support/changed-areas.ts'
import { slowestFirst } from './test/support/slowest-first.ts'

// By their last durations.
const slowest = [
  'benches',
  'crashes',
  'story',
  'archive',
  'snapshots',
  'import-story',
  'boards',
  'update',
  'pages',
  'box-health',
  'units',
  'import-box',
  'import',
  'emergency',
  'hot-copy',
  'demo',
  'boxes',
  'modules',
  'rollouts',
  'homeserver',
  'n8n',
  'daemon-killed',
  'school',
  'restore-box',
  'engine',
  'move',
]

export default defineConfig({
  test: {
    include: ['test/e2e/**/*.e2e.ts', 'test/console/**/*.e2e.ts'],
    exclude: testsOfUnchangedAreas(process.env.CHANGED_AREAS),
    globalSetup: ['test/testbed/global-setup.ts'],
    setupFiles: ['test/e2e/support/settled-fetch.ts'],
    experimental: { fsModuleCache: true },
    // As for the other tests: what a file imports is read once per worker.
    isolate: false,
    // Tests wait for servers most of the time. Files have names and ports of their own (support/ports.ts), so that some run beside each other.
    maxWorkers: 3,
    // Tests that are marked concurrent: as many as there are processors.
    maxConcurrency: 2,
    sequence: { sequencer: slowestFirst(slowest.map((name) => `${name}.e2e.ts`)) },
    testTimeout: 600_000,
    hookTimeout: 1_200_000,
    // What is asked again and again here are real servers beside others that start.
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
})
