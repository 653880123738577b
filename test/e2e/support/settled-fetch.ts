import { settlingFetch } from '../../../src/node/index.ts'

// The first `fetch` of a worker may never settle when a proxy closes its connection: the one before all others goes to nobody.
await settlingFetch('data:,')
