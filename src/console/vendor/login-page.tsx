import { useState } from 'react'
import { api, Button, Field, Sheet, useAttempt, usePageTitle } from '../kit/index.ts'

/** The answer is the same for every address: it does not show who has an account. */
export function LoginPage() {
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const { busy, error, attempt } = useAttempt()
  usePageTitle('Your account at the marketplace')
  const submit = () =>
    attempt(async () => {
      await api.vendor.sendVendorLink({ body: { email: email.trim() } })
      setSent(true)
    })
  return (
    <main className="login">
      <div>
        {isSent ? (
          <>
            <h1 id="page-title">Check your mail</h1>
            <p role="status">If this address has an account, a mail with a link is on its way. The link works once, within 30 minutes.</p>
            <Button look="quiet" onPress={() => setSent(false)}>
              Use another address
            </Button>
          </>
        ) : (
          <Sheet
            title="Your account at the marketplace"
            hint="For vendors: the account of a mail address is opened by a link in a mail. There is no password."
            {...{ busy, error }}
            onSubmit={submit}
            submit="Send a link"
          >
            <Field
              label="Mail address"
              type="email"
              value={email}
              onChange={setEmail}
              autoComplete="email"
              isRequired
              validationBehavior="aria"
            />
          </Sheet>
        )}
      </div>
    </main>
  )
}
