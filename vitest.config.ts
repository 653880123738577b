import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    exclude: ['test/e2e/**', 'node_modules/**'],
    // One PostgreSQL for the whole run; each test file makes a database of its own in it.
    globalSetup: ['test/support/postgres-server.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
