import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { type Language, languageOf } from '../../core/kit/index.ts'
import { KitTextsProvider } from '../kit/index.ts'
import type { Words } from './words/en.ts'

export const languages: readonly Language[] = ['de', 'en']

/** A catalogue is loaded when it is shown: a page has one language. */
const load: Readonly<Record<Language, () => Promise<Words>>> = {
  de: async () => (await import('./words/de.ts')).de,
  en: async () => (await import('./words/en.ts')).en,
}

const key = 'school-language'
const stored = () => languages.find((one) => one === localStorage.getItem(key))

type Shown = Readonly<{ language: Language; words: Words }>

/** The words of the first page: in the language that was chosen in this browser, else in that of the browser. */
export async function firstWords(): Promise<Shown> {
  const language = stored() ?? languageOf(navigator.language)
  return { language, words: await load[language]() }
}

type Chosen = Shown &
  Readonly<{
    choose(language: Language): void
    /** The locale of the user who logged in. */
    learnLocale(locale: string | null): void
  }>
const Chosen = createContext<Chosen | undefined>(undefined)

/** The language that was chosen in this browser, else that of the user, else that of the browser. */
export function LanguageProvider({ first, children }: Readonly<{ first: Shown; children: ReactNode }>) {
  const [chosen, setChosen] = useState(stored)
  const [locale, learnLocale] = useState<string | null>(null)
  const [shown, setShown] = useState(first)
  const wanted = chosen ?? languageOf(locale ?? navigator.language)
  const { language, words } = shown
  useEffect(() => {
    document.documentElement.lang = language
    if (wanted !== language) void load[wanted]().then((words) => setShown({ language: wanted, words }))
  }, [wanted, language])
  const value = useMemo(
    () => ({
      ...{ words, language, learnLocale },
      choose: (next: Language) => {
        localStorage.setItem(key, next)
        setChosen(next)
      },
    }),
    [words, language],
  )
  return (
    <Chosen value={value}>
      <KitTextsProvider texts={words.kit}>
        <I18nProvider locale={words.locale}>{children}</I18nProvider>
      </KitTextsProvider>
    </Chosen>
  )
}

export function useLanguage(): Chosen {
  const chosen = useContext(Chosen)
  if (!chosen) throw new Error('no language around this page')
  return chosen
}

export const useWords = (): Words => useLanguage().words
