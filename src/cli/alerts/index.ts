// `tenantry alerts`: what needs a person, who was told of it and whether that worked, and work that was given up.
// It decides nothing: the daemon raises and closes alerts; this shows them, says that somebody is on it, and sends again.
import { noun } from '../kit/index.ts'
import { acknowledge } from './acknowledge.ts'
import { list } from './list.ts'
import { resend } from './resend.ts'
import { show } from './show.ts'
import { test } from './test.ts'

export const alerts = noun('alerts', 'What needs a person, and who was told', [list, show, acknowledge, resend, test])
