import { defineConfig } from 'vitest/config'
import unit from './vitest.config.ts'

/** The web console alone, in a real browser: simulated hosts, so no container engine. Needs Debian's chromium. */
export default defineConfig({
  test: {
    ...unit.test,
    include: ['test/console/**/*.e2e.ts'],
    exclude: [],
    globalSetup: ['test/support/temp-folder.ts'],
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
})
