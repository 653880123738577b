import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { ActionDialog, api, useWhoAmI } from '../kit/index.ts'
import { useLoginWays } from './target.ts'
import { words } from './words.ts'

/** Asks for password and code, and answers whether the session was proven. */
// biome-ignore lint/style/noDefaultExport: React loads it when it is first opened
export default function ProofDialog({ answer }: ProofProps) {
  const login = useWhoAmI()?.login
  return login === 'provider' ? <ProviderProof answer={answer} /> : <PasswordProof answer={answer} />
}

type ProofProps = Readonly<{ answer(isProven: boolean): void }>

/** The provider's page takes the place of this one, so that the call is not repeated by itself. */
function ProviderProof({ answer }: ProofProps) {
  const name = useLoginWays()?.provider ?? 'company account'
  const next = location.pathname.replace(/^\/console/, '') + location.search
  return (
    <ActionDialog
      title={words.proveTitle}
      consequence={words.proveWhy}
      confirm={words.proveAtProvider(name)}
      run={async () => {
        location.assign((await api.admin.beginProviderLogin({ body: { next, prove: true } })).address)
        answer(false)
      }}
      onClose={() => answer(false)}
    />
  )
}

function PasswordProof({ answer }: ProofProps) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const hasTotp = useWhoAmI()?.totp === true
  const totp = code.replaceAll(' ', '')
  return (
    <ActionDialog
      title={words.reauthenticate}
      consequence={words.reauthenticateWhy}
      confirm="Continue"
      isComplete={password !== '' && (!hasTotp || totp !== '')}
      run={async () => {
        await api.admin.reauthenticate({ body: { password, ...(hasTotp ? { totp } : {}) } })
        answer(true)
      }}
      onClose={() => answer(false)}
    >
      <TextField className="field" type="password" value={password} onChange={setPassword} autoComplete="current-password" autoFocus>
        <Label>{words.password}</Label>
        <Input />
      </TextField>
      {hasTotp && (
        <TextField className="field" value={code} onChange={setCode} autoComplete="one-time-code">
          <Label>{words.code}</Label>
          <Input />
        </TextField>
      )}
    </ActionDialog>
  )
}
