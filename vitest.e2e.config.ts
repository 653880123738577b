import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/testbed/**/*.e2e.ts', 'test/e2e/**/*.e2e.ts'],
    globalSetup: ['test/testbed/global-setup.ts'],
    // Real boxes share one engine and its memory: one story at a time.
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 1_200_000,
  },
})
