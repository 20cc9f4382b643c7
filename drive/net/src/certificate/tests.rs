use std::fs;

use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_800_000_000;
const DAY: u64 = 86_400;

/// Writes a certificate and its key in PEM form into a new folder.
fn pem_files(label: &str, not_after: u64) -> (PathBuf, PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("evenkeel-pem-{label}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut params = rcgen::CertificateParams::new(vec!["relay.example".to_owned()]).expect("a name");
    params.not_before = date(NOW - DAY).expect("a date");
    params.not_after = date(not_after).expect("a date");
    let key = rcgen::KeyPair::generate().expect("a key");
    let der = params.self_signed(&key).expect("a certificate").der().to_vec();
    let (chain_path, key_path) = (folder.join("chain.pem"), folder.join("key.pem"));
    fs::write(&chain_path, pem("CERTIFICATE", &der)).expect("written");
    fs::write(&key_path, pem("PRIVATE KEY", &key.serialize_der())).expect("written");
    (folder, chain_path, key_path)
}

fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[test]
fn self_signed_certificates_are_short_lived_enough_for_browsers() {
    let certificate = Certificate::self_signed(&["relay.lan".to_owned()], NOW).expect("made");
    let Validity { not_before, not_after } = certificate.validity();
    assert!(not_before < NOW && NOW + 12 * DAY < not_after);
    assert!(not_after - not_before < 14 * DAY);
    let again = CertificateHash::of(&certificate.certified().cert[0]);
    assert_eq!(CertificateHash::parse(&again.to_string()), Ok(certificate.hash()));
    assert!(CertificateHash::parse("abc").is_err());
}

#[test]
fn hashes_are_published_before_and_after_they_are_served() {
    let mut rotation = Rotation::start(Vec::new(), NOW).expect("made");
    let first = rotation.current().hash();
    let (mut published, mut served) = (rotation.hashes(), vec![first]);
    for hour in 0..24 * 60 {
        let now = NOW + hour * 3_600;
        let before = published;
        if rotation.rotate_if_due(now).expect("made") {
            served.push(rotation.current().hash());
            assert!(before.contains(&rotation.current().hash()), "it was published before it was served");
        }
        published = rotation.hashes();
        assert!(published.len() <= 3);
        assert!(rotation.current().validity().not_after > now);
        assert!(published.contains(&rotation.current().hash()));
    }
    assert!(served.len() >= 5, "{served:?}");
    assert!(!published.contains(&first));
}

/// A rotation's file, removed on drop.
struct Kept(PathBuf);

impl Kept {
    fn new(label: &str) -> Self {
        let name = format!("evenkeel-kept-{label}-{}.pem", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn resume(&self, now: u64) -> Rotation {
        Rotation::resume(Vec::new(), self.0.clone(), now).expect("made")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_restart_keeps_the_served_certificate() {
    let kept = Kept::new("served");
    let served = kept.resume(NOW).current().hash();
    // The next one is published four days before the end and served two days before it.
    for day in [1, 8, 9, 10] {
        let resumed = kept.resume(NOW + day * DAY);
        assert_eq!(resumed.current().hash(), served, "day {day}");
        assert_eq!(resumed.hashes().len(), 1 + usize::from(day > 8), "day {day}");
    }
    assert_ne!(kept.resume(NOW + 12 * DAY).current().hash(), served);
}

#[test]
fn a_restart_keeps_the_hash_published_for_later() {
    let kept = Kept::new("later");
    let mut rotation = kept.resume(NOW);
    rotation.rotate_if_due(NOW + 10 * DAY).expect("made");
    let published = rotation.hashes();
    assert_eq!(published.len(), 2);
    assert_eq!(kept.resume(NOW + 10 * DAY).hashes(), published);
    // It is served in time whether or not the relay was running, and kept from then on.
    for day in [12, 20] {
        assert_eq!(kept.resume(NOW + day * DAY).current().hash(), published[1], "day {day}");
    }
    assert!(!kept.resume(NOW + 60 * DAY).hashes().contains(&published[1]));
}

/// A certificate and its key in PEM form, as a rotation keeps them.
fn pair(algorithm: &'static rcgen::SignatureAlgorithm, days: u64) -> String {
    let mut params = rcgen::CertificateParams::new(vec!["relay.example".to_owned()]).expect("a name");
    params.not_before = date(NOW - DAY).expect("a date");
    params.not_after = date(NOW + (days - 1) * DAY).expect("a date");
    let key = rcgen::KeyPair::generate_for(algorithm).expect("a key");
    to_pem_with_key(params.self_signed(&key).expect("a certificate").der(), &key.serialize_der())
}

#[test]
fn a_foreign_file_is_rejected_and_left_unchanged() {
    let kept = Kept::new("else");
    let own = pair(&rcgen::PKCS_ECDSA_P256_SHA256, 14);
    let (ours, key) = own.split_at(own.find("-----BEGIN PRIVATE").expect("a key"));
    for text in [
        "listen = [\"127.0.0.1:0\"]\n",
        &format!("# mine\n{own}"),
        &format!("{own}# mine\n"),
        &format!("{ours}{ours}{key}"),
        &format!("{own}{key}"),
        &pair(&rcgen::PKCS_ECDSA_P256_SHA256, 365),
        &pair(&rcgen::PKCS_ECDSA_P384_SHA384, 10),
        &pair(&rcgen::PKCS_ED25519, 10),
    ] {
        fs::write(&kept.0, text).expect("written");
        // Also long after every certificate in it has expired.
        for now in [NOW, NOW + 1_000 * DAY] {
            let refused = Rotation::resume(Vec::new(), kept.0.clone(), now);
            let message = refused.expect_err("refused").to_string();
            assert!(message.contains("something else") && message.contains("name another file"), "{message}");
        }
        assert_eq!(fs::read_to_string(&kept.0).expect("a file"), text);
    }
    for text in ["", &own] {
        fs::write(&kept.0, text).expect("written");
        let served = kept.resume(NOW + 1_000 * DAY).current().hash();
        assert_eq!(kept.resume(NOW + 1_000 * DAY).current().hash(), served);
    }
}

#[test]
fn a_file_replaced_meanwhile_is_not_overwritten() {
    let kept = Kept::new("meanwhile");
    let mut rotation = kept.resume(NOW);
    fs::write(&kept.0, "something else").expect("written");
    assert!(rotation.rotate_if_due(NOW + 12 * DAY).expect("made"), "the rotation goes on");
    assert_eq!(fs::read_to_string(&kept.0).expect("a file"), "something else");
}

#[test]
fn pem_files_are_read_and_their_faults_reported() {
    let (folder, chain, key) = pem_files("good", NOW + 90 * DAY);
    let (other_folder, other_chain, other_key) = pem_files("over", NOW - 1);
    let message = |chain: &Path, key: &Path| {
        Certificate::from_pem_files(chain, key, NOW).expect_err("faulty").to_string()
    };
    let good = Certificate::from_pem_files(&chain, &key, NOW).expect("read");
    assert_eq!(good.validity().not_after, NOW + 90 * DAY);
    assert!(message(&folder.join("none"), &key).contains("cannot read"));
    assert!(message(&chain, &other_key).contains("is not the key of"));
    assert!(message(&other_chain, &other_key).contains("expired"));
    assert!(message(&key, &key).contains("no certificate"));
    assert!(message(&chain, &chain).contains("no private key"));
    fs::remove_dir_all(folder).expect("removed");
    fs::remove_dir_all(other_folder).expect("removed");
}

proptest! {
    #[test]
    fn reading_dates_never_panics(der in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Validity::of(&der);
    }

    #[test]
    fn reading_dates_of_damaged_certificates_never_panics(at in 0usize..300, to in any::<u8>()) {
        let certificate = Certificate::self_signed(&[], NOW).expect("made");
        let mut der = certificate.certified().cert[0].to_vec();
        let at = at % der.len();
        der[at] = to;
        let _ = Validity::of(&der);
        let _ = Validity::of(&der[..at]);
    }
}
