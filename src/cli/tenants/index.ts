// `tenantry tenants`: whom the platform serves, and when each of them may be disturbed.
// It makes no tenant: one comes into being with its box.
import { noun } from '../kit/index.ts'
import { list } from './list.ts'
import { show } from './show.ts'
import { window } from './window.ts'

export { openingWords, windowWords } from './window-words.ts'

export const tenants = noun('tenants', 'The organisations that the platform serves', [list, show, window])
