import { returnPath } from '../../core/payments/index.ts'
import { htmlPage } from '../http/index.ts'

/** Addresses for the hosted pages of the provider: after they were left, and for a link that has expired or was used. */
export const returnUrlsOf = ({ baseUrl }: Readonly<{ baseUrl: string }>) => ({
  returnUrl: `${baseUrl}${returnPath}`,
  refreshUrl: `${baseUrl}${returnPath}?link=expired`,
})

/** Leaving a hosted page does not say that it was completed: an event of the provider does. */
export const returnPage = ({ link }: Readonly<{ link?: 'expired' | undefined }>): string =>
  htmlPage(
    link === 'expired'
      ? `<h1>The link has expired</h1>
<p>It works once and only for a short time. A new one is on the page where you began (of a vendor: /vendor), or ask the operator.</p>`
      : `<h1>You left the pages of the payment provider</h1>
<p>What you completed there is stored there, and the platform is notified. You can close this page.</p>
<p>If you did not finish, go back to the page where you began (of a vendor: /vendor), or ask the operator for a new link.</p>`,
  )
