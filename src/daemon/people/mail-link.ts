import { z } from 'zod'
import { isProblem } from '../../core/kit/index.ts'
import { linkMail } from '../../core/people/index.ts'
import { textLanguageOf } from '../../core/texts/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { PeopleDeps } from './deps.ts'
import { tokenOf, validLink } from './password-links.ts'

const Payload = z.object({ linkId: z.string() })

/** Mails a link. A repeated mail keeps its id and its link. A link that ended meanwhile is not mailed. */
export const mailLink =
  (deps: Pick<PeopleDeps, 'db' | 'clock' | 'keyring' | 'mailer' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { linkId } = Payload.parse(payload)
    const link = await validLink(deps, linkId).catch((error) => {
      if (isProblem(error, 'LINK_INVALID')) return undefined
      throw error
    })
    if (!link || !deps.mailer) return
    const { kind, user, tenant, email, expiresAt } = link
    const url = `${deps.baseUrl}/api/public/password?token=${encodeURIComponent(tokenOf(deps.keyring, linkId))}`
    const facts = { organisation: tenant.name, username: user.localpart, url, expiresAt }
    await deps.mailer.send({ id: linkId, to: email, ...linkMail({ kind, language: textLanguageOf(user.locale) }, facts) }, signal)
  }
