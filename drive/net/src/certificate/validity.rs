//! The validity period of a certificate, read from its DER form.
//!
//! Existing X.509 parsers pull in far more than two dates, so this skips the fields before them. Unreadable input gives
//! `None`, never a panic, because the file comes from outside.

/// The validity period of a certificate, in Unix seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// Start of validity.
    pub not_before: u64,
    /// End of validity.
    pub not_after: u64,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// Reads the validity period of a certificate in DER form.
    #[must_use]
    pub fn of(der: &[u8]) -> Option<Self> {
        let certificate = expect(der, SEQUENCE)?;
        let mut fields = expect(certificate, SEQUENCE)?;
        if fields.first() == Some(&VERSION) {
            fields = element(fields)?.2;
        }
        // The serial number, signature algorithm and issuer precede the dates.
        for _ in 0..3 {
            fields = element(fields)?.2;
        }
        let dates = expect(fields, SEQUENCE)?;
        let (tag, text, rest) = element(dates)?;
        let not_before = seconds(tag, text)?;
        let (tag, text, _) = element(rest)?;
        Some(Self { not_before, not_after: seconds(tag, text)? })
    }
}

/// Splits off the first element: its tag, its content and the remaining bytes.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(len)?;
    Some((tag, content, rest))
}

/// Returns the content of the first element, which must have this tag.
fn expect(bytes: &[u8], wanted: u8) -> Option<&[u8]> {
    let (tag, content, _) = element(bytes)?;
    (tag == wanted).then_some(content)
}

/// Parses `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ` into Unix seconds.
fn seconds(tag: u8, text: &[u8]) -> Option<u64> {
    let (year, rest) = match tag {
        UTC_TIME => {
            let (digits, rest) = text.split_at_checked(2)?;
            let year = number(digits)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (digits, rest) = text.split_at_checked(4)?;
            (number(digits)?, rest)
        }
        _ => return None,
    };
    if rest.len() != 11 || rest[10] != b'Z' {
        return None;
    }
    let fields: Vec<u8> = rest[..10]
        .chunks(2)
        .map(|digits| number(digits).and_then(|value| u8::try_from(value).ok()))
        .collect::<Option<_>>()?;
    let month = time::Month::try_from(fields[0]).ok()?;
    let date = time::Date::from_calendar_date(year, month, fields[1]).ok()?;
    let time = time::Time::from_hms(fields[2], fields[3], fields[4]).ok()?;
    u64::try_from(time::PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp()).ok()
}

fn number(digits: &[u8]) -> Option<i32> {
    digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i32::from(digit - b'0')))
}
