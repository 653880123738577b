// `tenantry tenants`: whom the platform serves, what is known of each, and when it may be disturbed.
// It makes no box: a tenant comes into being with one, or alone before it.
import { noun } from '../kit/index.ts'
import { create, list, resume, show, suspend, update } from './commands.ts'

import { window } from './window.ts'

export { openingWords, windowWords } from './tenants.view.ts'

export const tenants = noun('tenants', 'The organisations that the platform serves', [list, show, create, update, window, suspend, resume])
