import { defineConfig } from 'vitest/config'
import unit from './vitest.config.ts'

/** The interface against its own document: one daemon, and beside it a program that asks it everything. */
export default defineConfig({
  test: {
    ...unit.test,
    include: ['test/conformity/**/*.e2e.ts'],
    exclude: [],
    globalSetup: ['test/support/temp-folder.ts'],
    testTimeout: 1_200_000,
  },
})
