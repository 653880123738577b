import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { contrast, logoLimits, minContrast, type OwnBranding, textOn } from '../../core/branding/index.ts'
import { readPicture } from '../../core/kit/index.ts'
import { ActionDialog, api, Button, Field, Loaded, PageHeader, Section, Sheet, Status, useAttempt } from '../kit/index.ts'
import { queryClient, sessionQuery } from './queries.ts'
import { appearanceWords } from './words/appearance.ts'
import { useLanguage, useWords } from './words.tsx'

const brandingQuery = { queryKey: ['branding'], queryFn: () => api.branding.showBranding() } as const

const useTexts = () => appearanceWords[useLanguage().language]

/** The header of the page shows name, colour and logo too. */
function show(branding: OwnBranding): void {
  queryClient.setQueryData(brandingQuery.queryKey, branding)
  void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
}

export function Page() {
  const words = useWords()
  const texts = useTexts()
  const branding = useQuery(brandingQuery)
  return (
    <>
      <PageHeader title={words.appearance} answer={texts.answer} />
      <Loaded query={branding} rows={4}>
        {(found) => (
          <>
            <NameAndColor {...found} />
            <Logo {...found} />
          </>
        )}
      </Loaded>
    </>
  )
}

const isColor = (text: string) => /^#[0-9a-f]{6}$/i.test(text)

function NameAndColor({ tenantName, color }: OwnBranding) {
  const words = useWords()
  const texts = useTexts()
  const [name, setName] = useState(tenantName)
  const [entered, setEntered] = useState(color ?? '')
  const [isSaved, setSaved] = useState(false)
  const { busy, error, attempt } = useAttempt()
  const chosen = entered.trim().toLowerCase()
  const isValid = chosen === '' || isColor(chosen)
  const change = {
    ...(name.trim() !== tenantName && { tenantName: name.trim() }),
    ...(chosen !== (color ?? '') && { color: chosen === '' ? null : chosen }),
  }
  const edit = (set: (value: string) => void) => (value: string) => {
    setSaved(false)
    set(value)
  }
  const save = () => {
    if (!isValid || Object.keys(change).length === 0) return
    attempt(async () => {
      show(await api.branding.changeBranding({ body: change }))
      setSaved(true)
    })
  }
  return (
    <div className="narrow-form">
      <Sheet onSubmit={save} submit={words.save} busy={busy || !isValid || Object.keys(change).length === 0} error={error}>
        <Field label={texts.name} value={name} onChange={edit(setName)} isRequired validationBehavior="aria" maxLength={100} />
        <div className="color-field">
          <Field
            label={texts.color}
            value={entered}
            onChange={edit(setEntered)}
            hint={texts.colorHint}
            error={isValid ? undefined : texts.notColor}
          />
          <input
            type="color"
            aria-label={texts.pick}
            value={isColor(chosen) ? chosen : '#808080'}
            onChange={({ target }) => edit(setEntered)(target.value)}
          />
        </div>
        {isColor(chosen) && <Contrast color={chosen} name={name} />}
      </Sheet>
      {isSaved && <Status tone="ok">{texts.saved}</Status>}
    </div>
  )
}

/** How readable the colour is, with its values. */
function Contrast({ color, name }: Readonly<{ color: string; name: string }>) {
  const texts = useTexts()
  const { locale } = useWords()
  const number = (value: number) => new Intl.NumberFormat(locale).format(value)
  const text = textOn(color)
  const [onWhite, onBlack] = [contrast(color, '#ffffff'), contrast(color, '#000000')]
  return (
    <>
      <p className="brand" style={{ background: color, color: text }}>
        {name}
      </p>
      <p>{texts.onIt(text === '#000000', number(contrast(color, text)))}</p>
      {onWhite < minContrast ? (
        <Status tone="warning">{texts.unreadable(number(onWhite), number(minContrast))}</Status>
      ) : (
        <Status tone="ok">{texts.readable(number(onWhite))}</Status>
      )}
      {onBlack < minContrast && <Status tone="warning">{texts.unreadableOnBlack(number(onBlack), number(minContrast))}</Status>}
    </>
  )
}

function Logo({ logoPath, logo, tenantName }: OwnBranding) {
  const texts = useTexts()
  const [file, setFile] = useState<File>()
  const [refusal, setRefusal] = useState<string>()
  const [isRemoving, setRemoving] = useState(false)
  const { busy, error, attempt } = useAttempt()
  const choose = async (chosen: File | undefined) => {
    setRefusal(undefined)
    setFile(chosen)
    if (!chosen) return
    if (chosen.size > logoLimits.bytes) setRefusal(texts.tooLarge)
    else setRefusal(refusalOf(texts, readPicture(new Uint8Array(await chosen.arrayBuffer()), logoLimits)))
  }
  const upload = () => {
    if (!file || refusal !== undefined) return
    attempt(async () => {
      show(await api.branding.putLogo({ upload: { content: file, fileName: file.name } }))
      setFile(undefined)
    })
  }
  return (
    <Section title={texts.logo}>
      {logoPath && logo ? (
        <>
          <p>
            <img src={logoPath} alt={texts.logoAlt(tenantName)} className="brand-logo" />
          </p>
          <p className="dim">{texts.logoSize(logo.width, logo.height, Math.ceil(logo.bytes / 1024))}</p>
        </>
      ) : (
        <p className="dim">{texts.noLogo}</p>
      )}
      <div className="narrow-form">
        <Sheet hint={texts.fileHint} onSubmit={upload} submit={texts.upload} busy={busy || !file || refusal !== undefined} error={error}>
          <label className="field file">
            <span>{texts.file}</span>
            <input
              key={logoPath}
              type="file"
              accept="image/png,image/jpeg,image/webp"
              onChange={({ target }) => void choose(target.files?.[0])}
            />
          </label>
          {refusal !== undefined && <p className="field-error">{refusal}</p>}
        </Sheet>
      </div>
      {logoPath && (
        <p className="page-actions">
          <Button onPress={() => setRemoving(true)}>{texts.remove}…</Button>
        </p>
      )}
      {isRemoving && (
        <ActionDialog
          title={texts.removeTitle}
          consequence={<p>{texts.removeText}</p>}
          confirm={texts.remove}
          danger
          run={async () => show(await api.branding.deleteLogo())}
          onClose={() => setRemoving(false)}
        />
      )}
    </Section>
  )
}

/** Checked before it is sent, by the rule of the daemon, for a text in the language of the page. */
function refusalOf(texts: ReturnType<typeof useTexts>, read: ReturnType<typeof readPicture>): string | undefined {
  if (!('refused' in read)) return undefined
  if (read.refused === 'size') return texts.wrongSize(`${read.width} × ${read.height}`)
  return read.refused === 'form' ? texts.noImage : texts.damaged
}
