import { useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { ActionDialog, api, useWhoAmI } from '../kit/index.ts'
import { words } from './words.ts'

/** Asks for password and code, and answers whether the session was proven. */
// biome-ignore lint/style/noDefaultExport: React loads it when it is first opened
export default function ProofDialog({ answer }: Readonly<{ answer(isProven: boolean): void }>) {
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
