// `tenantry automation`: keys of automation tools, and the chat token of a tenant's automation user.
// It never shows a stored key or token.
import { noun } from '../kit/index.ts'
import { keys } from './keys.ts'
import { rotate } from './rotate.ts'

export const automation = noun('automation', 'Keys of automation tools', [keys, rotate])
