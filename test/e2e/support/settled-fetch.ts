import { settlingFetch } from '../../../src/node/index.ts'

// The first `fetch` of a worker may never settle when a proxy closes its connection: so the first one is sent as a warm-up.
await settlingFetch('data:,')
